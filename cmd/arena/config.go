package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"hexarena/adapters/drand"
	"hexarena/adapters/witness"
	"hexarena/cmd/arena/listen"
	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
)

// pace holds the flags whose defaults differ between `arena serve` and `arena
// demo`.
type pace struct {
	Data         string        `default:"./data" help:"Folder of the arena's data."`
	Tick         time.Duration `default:"30s" help:"Time between two ticks of matchmaking."`
	RestStandard time.Duration `default:"5m" help:"Rest between a bot's standard matches."`
	RestParley   time.Duration `default:"60m" help:"Rest between a bot's parley matches."`
}

// demoPace starts matches within seconds.
type demoPace struct {
	Data         string        `help:"Folder of the arena's data (default: a new one)."`
	Tick         time.Duration `default:"2s" help:"Time between two ticks of matchmaking."`
	RestStandard time.Duration `default:"3s" help:"Rest between a bot's standard matches."`
	RestParley   time.Duration `default:"3s" help:"Rest between a bot's parley matches."`
}

// config holds the flags of `arena serve` and `arena demo`.
type config struct {
	pace             pace
	trustedProxies   []netip.Prefix    // parsed from TrustedProxies
	beaconChain      beacon.Chain      // parsed from BeaconChain; all its fields are set only for quicknet
	witnesses        []witness.Witness // parsed from Witness
	snapshotEvery    uint64            // see matchmaker.LadderOptions; set only by tests
	Listen           string            `default:"127.0.0.1:8080" help:"Address of the API and the pages."`
	AdminListen      string            `default:"127.0.0.1:8081" help:"Address of the operators' endpoints."`
	AdminHosts       []listen.HostName `help:"Names under which monitoring reaches the operators' endpoints, besides IP addresses and localhost."`
	BaseURL          string            `name:"base-url" help:"The arena's public URL (default: http://<listen>)."`
	EventStore       string            `name:"eventstore" env:"ARENA_EVENTSTORE" help:"esdb:// connection string of the log (default: the embedded node)."`
	NodeListen       string            `default:"127.0.0.1:2113" help:"Address of the embedded node."`
	DecisionStandard time.Duration     `default:"5s" help:"Time for one decision in a standard match."`
	DecisionParley   time.Duration     `default:"60s" help:"Time for one decision in a parley match."`
	WallStandard     time.Duration     `default:"10m" help:"Playing time after which a standard match is aborted."`
	WallParley       time.Duration     `default:"180m" help:"Playing time after which a parley match is aborted."`
	TimeBank         bool              `help:"Divide the wall clock of new matches among their seats, so that slow bots lose their own time instead of aborting the match."`
	Mail             string            `help:"Where emails go: file:DIR, smtp://user:password@host:port or smtps://… (default: file:<data>/mail)."`
	Secrets          string            `help:"The secrets file (default: <data>/secrets.json)."`
	Beacon           string            `placeholder:"URL" help:"Base URL of a drand relay. Its rounds become part of the seeds (default: no beacon)."`
	BeaconChain      string            `default:"quicknet" help:"The drand chain that the beacon uses: quicknet, or HASH:PUBLICKEY in hex."`
	SeedKeyRotation  time.Duration     `default:"24h" help:"The arena replaces its seed key when the key is this old. With 0, only an operator replaces it."`
	Play             bool              `default:"true" negatable:"" help:"Seat and play matches; with --no-play, only serve pages and the API."`
	MaxMatches       int               `placeholder:"N" help:"How many matches this process plays at the same time (default: 500 for each CPU core)."`
	TrustedProxies   []string          `name:"trusted-proxies" help:"CIDRs of proxies whose X-Forwarded-For the arena trusts."`
	Witness          []string          `placeholder:"VKEY URL,..." help:"Witnesses that cosign the heads of the ladder trees. Give the key and the URL of each, as in a witness line of a C2SP tlog-policy."`
	SecurityContact  string            `help:"Where to report vulnerabilities, in /.well-known/security.txt: an email address, or an https or mailto URI (default: security@ followed by the host of the base URL)."`
	InsecureNode     bool              `help:"Allow a --node-listen address that is not on loopback."`
	Production       bool              `help:"Accept only https URLs at public addresses for bots; needs an https --base-url."`
}

// validate checks the flags and replaces URLs with their normal form. Its error is
// one line long and names the invalid flag.
func (c *config) validate() error {
	for name, d := range map[string]time.Duration{
		"--tick": c.pace.Tick, "--decision-standard": c.DecisionStandard, "--decision-parley": c.DecisionParley,
		"--wall-standard": c.WallStandard, "--wall-parley": c.WallParley,
	} {
		if d < time.Millisecond {
			return fmt.Errorf("%s %s: must be at least 1ms", name, d)
		}
	}
	if err := c.validateTimeBank(); err != nil {
		return err
	}
	if c.MaxMatches < 0 {
		return fmt.Errorf("--max-matches %d: must not be below zero", c.MaxMatches)
	}
	if c.pace.RestStandard < 0 || c.pace.RestParley < 0 {
		return errors.New("--rest-standard and --rest-parley must not be below zero")
	}
	for name, address := range map[string]string{"--listen": c.Listen, "--admin-listen": c.AdminListen, "--node-listen": c.NodeListen} {
		if _, err := net.ResolveTCPAddr("tcp", address); err != nil || address == "" {
			return fmt.Errorf("%s %q: want host:port", name, address)
		}
	}
	for _, cidr := range c.TrustedProxies {
		network, err := netip.ParsePrefix(cidr)
		if err != nil {
			return fmt.Errorf("--trusted-proxies %q: want CIDRs such as 10.0.0.0/8", cidr)
		}
		c.trustedProxies = append(c.trustedProxies, network)
	}
	var err error
	if c.witnesses, err = witness.ParseAll(c.Witness); err != nil {
		return fmt.Errorf("--witness %w", err)
	}
	if c.EventStore == "" && !c.InsecureNode && !listen.IsLoopback(c.NodeListen) {
		return fmt.Errorf("--node-listen %s: anyone on the network could write to the log; listen on loopback, or add --insecure-node", c.NodeListen)
	}
	return cmp.Or(c.validateContact(), c.validateBaseURL(), c.validateBeacon())
}

// validateTimeBank checks that the wall clock is long enough even if seats overdraw
// their time bank.
func (c *config) validateTimeBank() error {
	if !c.TimeBank {
		return nil
	}
	for _, m := range []struct {
		mode           string
		wall, decision time.Duration
	}{{ladder.Standard, c.WallStandard, c.DecisionStandard}, {ladder.Parley, c.WallParley, c.DecisionParley}} {
		if least := match.MinBankDecisions * m.decision; m.wall < least {
			return fmt.Errorf("--time-bank needs a --wall-%s of at least %s: %d times --decision-%s", m.mode, least, match.MinBankDecisions, m.mode)
		}
	}
	return nil
}

// minRotation is the minimum time between two scheduled rotations of the seed key.
const minRotation = time.Second

func (c *config) validateBeacon() (err error) {
	if c.SeedKeyRotation != 0 && c.SeedKeyRotation < minRotation {
		return fmt.Errorf("--seed-key-rotation %s: must be 0 or at least %s", c.SeedKeyRotation, minRotation)
	}
	if c.beaconChain, err = drand.ParseChain(c.BeaconChain); err != nil {
		return fmt.Errorf("--beacon-chain %q: %w", c.BeaconChain, err)
	}
	u, err := url.Parse(c.Beacon)
	if c.Beacon != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		return fmt.Errorf("--beacon %q: want http(s)://host[:port][/path]", c.Beacon)
	}
	c.Beacon = strings.TrimRight(c.Beacon, "/")
	return nil
}

// validateContact checks --security-contact and turns it into a URI, as RFC 9116
// requires.
func (c *config) validateContact() error {
	contact := c.SecurityContact
	if address, err := mail.ParseAddress(contact); err == nil && address.Address == contact {
		c.SecurityContact = "mailto:" + contact
		return nil
	}
	u, err := url.Parse(contact)
	if contact == "" || err == nil && (u.Scheme == "https" && u.Host != "" || u.Scheme == "mailto" && u.Opaque != "") && !strings.ContainsAny(contact, " \t") {
		return nil
	}
	return fmt.Errorf("--security-contact %q: want an email address, or an https or mailto URI", contact)
}

func (c *config) validateBaseURL() error {
	if c.BaseURL == "" {
		if c.Production {
			return errors.New("--production needs --base-url https://…")
		}
		return nil
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("--base-url %q: want http(s)://host[:port]", c.BaseURL)
	}
	if c.Production && u.Scheme != "https" {
		return fmt.Errorf("--base-url %q: --production needs https", c.BaseURL)
	}
	c.BaseURL = u.Scheme + "://" + u.Host
	return nil
}

func (c *config) mail() string {
	return cmp.Or(c.Mail, "file:"+filepath.Join(c.pace.Data, "mail"))
}

func (c *config) secrets() string {
	return cmp.Or(c.Secrets, filepath.Join(c.pace.Data, "secrets.json"))
}
