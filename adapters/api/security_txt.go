package api

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// securityTextLife is how long a copy of security.txt is valid. RFC 9116, 2.5.5,
// recommends less than a year.
const securityTextLife = 364 * 24 * time.Hour

// getSecurityText returns the address for vulnerability reports, in the format of
// RFC 9116.
func (s *Server) getSecurityText(*call, *nothing) (*response, error) {
	return newResponse("text/plain; charset=utf-8", revalidated, s.securityText()), nil
}

// securityText returns the file. Its expiry time is at midnight, so that the
// entity tag changes only once a day.
func (s *Server) securityText() []byte {
	base := strings.TrimSuffix(s.BaseURL, "/")
	expires := s.Now().UTC().Add(securityTextLife).Truncate(24 * time.Hour)
	return fmt.Appendf(nil, `Contact: %s
Expires: %s
Preferred-Languages: en
Canonical: %s/.well-known/security.txt
Policy: %[3]s/docs/security
`, cmp.Or(s.SecurityContact, defaultContact(base)), expires.Format(time.RFC3339), base)
}

// defaultContact returns the mailbox that RFC 2142 reserves for security reports
// at the arena's host.
func defaultContact(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "mailto:security@localhost"
	}
	return "mailto:security@" + u.Hostname()
}
