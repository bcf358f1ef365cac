package botwire

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notAllowed reports whether an error means that the address is not allowed. In
// that case, a retry cannot help.
func notAllowed(err error) bool {
	n, ok := err.(interface{ NotAllowed() bool })
	return ok && n.NotAllowed()
}

func TestAllowed(t *testing.T) {
	production := New(Options{Key: platformKey, Production: true, OwnHosts: []string{"Arena.Example", "other.example:8443"}})
	development := New(Options{Key: platformKey, Own: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8080")}})
	const both, never, devOnly = 2, 0, 1
	cases := map[string]int{
		"https://bot.example":                       both,
		"https://bot.example/":                      both,
		"https://bot.example:9001/a/b?x=1&y=%2F":    both,
		"HTTPS://BOT.EXAMPLE/a":                     both,
		"https://bot.example./":                     both,
		"https://xn--bcher-kva.example":             both,
		"https://my_bot.example":                    both,
		"https://8.8.8.8/":                          both,
		"https://134744072/":                        both, // 8.8.8.8
		"https://[2606:4700:4700::1111]/":           both,
		"https://[::ffff:8.8.8.8]/":                 both,
		"https://0x7f.bot.example/":                 both,
		"http://bot.example":                        devOnly,
		"http://127.0.0.1:9001":                     devOnly,
		"http://localhost:9001/bot":                 devOnly,
		"https://localhost":                         devOnly,
		"https://LOCALHOST./":                       devOnly,
		"https://a.localhost/":                      devOnly,
		"https://10.0.0.1/":                         devOnly,
		"https://10.1/":                             devOnly,
		"https://172.16.0.1/":                       devOnly,
		"https://192.168.1.1/":                      devOnly,
		"https://100.64.0.1/":                       devOnly,
		"https://169.254.1.1/":                      devOnly,
		"https://0.0.0.0/":                          devOnly,
		"https://0/":                                devOnly,
		"https://127.1/":                            devOnly,
		"https://127.0.0.1./":                       devOnly,
		"https://2130706433/":                       devOnly,
		"https://0x7f000001/":                       devOnly,
		"https://0x7F.1/":                           devOnly,
		"https://0x7f.0x0.0x0.0x1/":                 devOnly,
		"https://0177.0.0.1/":                       devOnly,
		"https://017700000001/":                     devOnly,
		"https://127.0.0.0x/":                       devOnly,
		"https://[::]/":                             devOnly,
		"https://[::1]/":                            devOnly,
		"https://[0:0:0:0:0:0:0:1]/":                devOnly,
		"https://[::ffff:127.0.0.1]/":               devOnly,
		"https://[::ffff:7f00:1]/":                  devOnly,
		"https://[::127.0.0.1]/":                    devOnly,
		"https://[64:ff9b::7f00:1]/":                devOnly,
		"https://[64:ff9b:1::1]/":                   devOnly,
		"https://[2002:7f00:1::]/":                  devOnly,
		"https://[2001::1]/":                        devOnly,
		"https://[2001:db8::1]/":                    devOnly,
		"https://[fe80::1]/":                        devOnly,
		"https://[fc00::1]/":                        devOnly,
		"https://[ff02::1]/":                        devOnly,
		"https://224.0.0.1/":                        devOnly,
		"https://255.255.255.255/":                  devOnly,
		"https://198.18.0.1/":                       devOnly,
		"https://192.0.2.1/":                        devOnly,
		"https://168.63.129.16/":                    never,
		"https://0xa83f8110/":                       never,
		"https://169.254.169.254/latest/meta-data/": never,
		"https://2852039166/":                       never,
		"https://[::ffff:169.254.169.254]/":         never,
		"https://100.100.100.200/":                  never,
		"https://[fd00:ec2::254]/":                  never,
		"":                                          never,
		"bot.example":                               never,
		"//bot.example":                             never,
		"/path":                                     never,
		"https:":                                    never,
		"https://":                                  never,
		"https:///path":                             never,
		"https://:443/":                             never,
		"https:bot.example":                         never,
		"ws://bot.example":                          never,
		"wss://bot.example":                         never,
		"ftp://bot.example":                         never,
		"file:///etc/passwd":                        never,
		"javascript:alert(1)":                       never,
		"https://user@bot.example":                  never,
		"https://user:pass@bot.example":             never,
		"https://@bot.example":                      never,
		"https://:@bot.example":                     never,
		"https://bot.example#":                      never,
		"https://bot.example/#x":                    never,
		"https://bot.example/?a#b":                  never,
		"https://bot.example:0":                     never,
		"https://bot.example:65536":                 never,
		"https://bot.example:x":                     never,
		"https://bot example":                       never,
		"https://bot.example\n":                     never,
		"https://bot.example\r\nx: y":               never,
		"https://bot%2eexample":                     never,
		"https://%31%32%37.0.0.1/":                  never,
		"https://①②⑦.0.0.1/":                        never,
		"https://127。0。0。1/":                        never,
		"https://bücher.example":                    never,
		"https://[fe80::1%25lo]/":                   never,
		"https://[127.0.0.1]/":                      never,
		"https://[::1/":                             never,
		"https://1.2.3.4.5/":                        never,
		"https://256.1.1.1/":                        never,
		"https://1.2.3.256/":                        never,
		"https://4294967296/":                       never,
		"https://a.08/":                             never,
		"https://bot.0x7/":                          never,
		"https://1..1/":                             never,
		"https://bot.example/" + strings.Repeat("x", maxURL): never,
	}
	for raw, want := range cases {
		got := 0
		for _, d := range []*Dialer{production, development} {
			err := d.Allowed(t.Context(), raw)
			if err == nil {
				got++
				continue
			}
			require.True(t, notAllowed(err), raw)
			require.NotContains(t, err.Error(), "bot.example", raw)
		}
		require.Equal(t, want, got, raw)
	}
	for _, own := range []string{"https://arena.example", "https://ARENA.example:443/x", "https://arena.example./", "https://other.example:8443"} {
		require.Error(t, production.Allowed(t.Context(), own), own)
	}
	require.NoError(t, production.Allowed(t.Context(), "https://arena.example:9001"))
	require.NoError(t, production.Allowed(t.Context(), "https://other.example"))
	require.Error(t, development.Allowed(t.Context(), "http://127.0.0.1:8080"))
	require.Error(t, development.Allowed(t.Context(), "http://2130706433:8080/"))
	require.Error(t, development.Allowed(t.Context(), "http://0.0.0.0:8080"))
	require.NoError(t, development.Allowed(t.Context(), "http://127.0.0.1:8081"))
}

// The arena rejects a name that resolves to the arena itself, and every spelling of its
// own base URL, before it dials.
func TestAllowedRejectsTheArenaItself(t *testing.T) {
	names := newNameServer(t)
	d := New(Options{
		Resolver: names.resolver(), Own: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.5:8080")},
		OwnHosts: []string{"203.0.113.7:9000", "Arena.Example.:443"},
	})
	for _, raw := range []string{
		"http://203.0.113.7:9000", "http://203.0.113.7.:9000/x", "http://0xcb.0.0x7107:9000", "http://3405803783:9000", "http://[::ffff:203.0.113.7]:9000",
		"https://arena.example", "https://ARENA.example.:443", "http://arena.example",
	} {
		require.True(t, notAllowed(d.Allowed(t.Context(), raw)), raw)
	}
	cases := []struct {
		addrs   []string
		port    string
		allowed bool
	}{
		{[]string{"10.0.0.5"}, "8080", false},
		{[]string{"10.0.0.6", "10.0.0.5"}, "8080", false},
		{[]string{"::ffff:10.0.0.5"}, "8080", false},
		{[]string{"203.0.113.7"}, "9000", false},
		{[]string{"10.0.0.5"}, "8082", true},
		{[]string{"10.0.0.6"}, "8080", true},
		{nil, "8080", true}, // the deploy check will report that the name does not resolve
	}
	for _, c := range cases {
		names.points(c.addrs...)
		err := d.Allowed(t.Context(), "http://bot.example.:"+c.port)
		require.Equal(t, c.allowed, err == nil, c)
		require.Equal(t, !c.allowed, notAllowed(err), c)
	}
}

func TestOwnAddresses(t *testing.T) {
	cases := []struct {
		own, to string
		refused bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", true},
		{"127.0.0.1:8080", "0.0.0.0:8080", true},
		{"127.0.0.1:8080", "[::]:8080", true},
		{"127.0.0.1:8080", "127.0.0.1:8081", false},
		{"127.0.0.1:8080", "127.0.0.2:8080", false},
		{"[::1]:8080", "[::1]:8080", true},
		{"0.0.0.0:8080", "127.0.0.1:8080", true},
		{"0.0.0.0:8080", "127.9.9.9:8080", true},
		{"[::]:8080", "127.0.0.1:8080", true},
		{"[::]:8080", "[::1]:8080", true},
		{"[::]:8080", "[::1%lo]:8080", true},
		{"[::]:8080", "8.8.8.8:8080", false},
		{"[::]:8080", "127.0.0.1:9001", false},
	}
	for _, c := range cases {
		g := newGuard(false, []netip.AddrPort{netip.MustParseAddrPort(c.own)}, nil)
		require.Equal(t, !c.refused, g.allows(netip.MustParseAddrPort(c.to)), "own %s, to %s", c.own, c.to)
	}
}

// FuzzAllowed checks a Dialer with Production set. The Dialer must allow only https
// URLs without a user name and without a fragment, and must never allow an address that
// the guard rejects.
func FuzzAllowed(f *testing.F) {
	for _, seed := range []string{
		"https://bot.example:9001/a?b", "http://bot.example", "https://0x7f.1/", "https://[::ffff:127.0.0.1]/",
		"https://2130706433/", "https://u@h/#f", "https://①②⑦.0.0.1/", "https://[fe80::1%25lo]/", "https://0177.1", "https://8.8.8.8:0",
	} {
		f.Add(seed)
	}
	production := newGuard(true, nil, nil)
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := production.parse(raw)
		if err != nil {
			require.True(t, notAllowed(err))
			return
		}
		require.Equal(t, "https", u.Scheme)
		require.Nil(t, u.User)
		require.NotContains(t, raw, "#")
		again, err := url.Parse(u.String())
		require.NoError(t, err)
		require.Equal(t, u.Host, again.Host)
		host := strings.TrimSuffix(u.Hostname(), ".")
		require.NotEmpty(t, host)
		require.False(t, strings.ContainsFunc(host, func(r rune) bool { return r > 0x7E || r <= 0x20 }))
		if addr, err := netip.ParseAddr(host); err == nil {
			require.True(t, production.allows(netip.AddrPortFrom(addr, 443)))
		}
		ping, err := url.Parse(pingURL(u))
		require.NoError(t, err)
		require.Equal(t, u.Host, ping.Host)
		require.True(t, strings.HasSuffix(ping.Path, "/ping"))
		require.Equal(t, u.RawQuery, ping.RawQuery)
	})
}
