package listen

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
)

// HostName is the name of a host, without a port, in lower case.
type HostName string

var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$`)

// UnmarshalText implements encoding.TextUnmarshaler for the flag parser.
func (n *HostName) UnmarshalText(text []byte) error {
	if *n = nameOf(string(text)); !hostName.MatchString(string(*n)) {
		return fmt.Errorf("%q: want a host name without a port, such as arena.internal", text)
	}
	return nil
}

// nameOf returns the normal form of a host name.
func nameOf(host string) HostName { return HostName(strings.ToLower(strings.TrimSuffix(host, "."))) }

var errForeignHost = errors.New("the host in the URL must be an IP address, localhost, or a name in --admin-hosts")

// The variable foreign maps the errors of ForOperators to responses.
var foreign = problem.Table{
	{Err: errForeignHost, Status: http.StatusForbidden, Code: "host"},
	{Err: problem.ErrCrossSite, Status: http.StatusForbidden, Code: "cross_site"},
}

// ForOperators protects operators' endpoints from web pages that an operator's
// browser shows. The endpoints have no passwords, so the browser could call them
// on behalf of such a page. ForOperators refuses two kinds of calls, whatever
// their path and method:
//
//   - Calls to a host that the operator did not name, because any site can make its
//     own name resolve to this machine. The operator's hosts are IP addresses,
//     localhost, the hosts in the parameter names, and the host in the parameter
//     address (the value of --admin-listen). HTTP/1.0 clients may omit the host.
//     Browsers always send it.
//   - Calls that a browser sends on behalf of another site's page. These include GET,
//     because a GET starts a profile.
//
// See docs/operations.md, "Ports".
func ForOperators(h http.Handler, address string, names []HostName, logger *slog.Logger) http.Handler {
	names = append(slices.Clone(names), "", "localhost", nameOf(hostOf(address)))
	crossSite := http.NewCrossOriginProtection()
	check := func(r *http.Request) error {
		if host := hostOf(r.Host); !isOneMachine(host) && !slices.Contains(names, nameOf(host)) {
			return errForeignHost
		}
		asPost := *r // a copy with another method, because the protection lets every GET pass
		asPost.Method = http.MethodPost
		if crossSite.Check(&asPost) != nil {
			return problem.WithDetail(problem.ErrCrossSite, "the request comes from another site's page: open the address directly")
		}
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := check(r)
		if err == nil {
			h.ServeHTTP(w, r)
			return
		}
		id := uuid.NewString()
		logger.LogAttrs(r.Context(), slog.LevelInfo, "operators' endpoint refused a call",
			slog.String("path", r.URL.Path), slog.Any("error", err), slog.String("request", id))
		w.Header().Set(rest.HeaderRequestID, id)
		problem.Write(w, foreign.Of(err))
	})
}

// hostOf returns the host of an address with or without a port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// isOneMachine reports whether a host is the IP address of a single machine, in its
// usual form. This excludes 0.0.0.0, [::] and [::ffff:127.0.0.1]: under these
// addresses, browsers also connect to this machine, but may not say which site a call
// comes from.
func isOneMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && !ip.IsUnspecified() && !ip.Is4In6()
}
