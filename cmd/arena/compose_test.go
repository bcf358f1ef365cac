package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"log/slog"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/alecthomas/kong"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/esdb"
)

// These tests have no container engine, so they cannot run compose.yaml. They check
// that the file matches its schema, that its services fit together, and that this
// program accepts its settings.

const root = "../.."

// The variable chosen holds the settings of an operator's .env file.
var chosen = types.Mapping{
	"EVENTSTORE_ADMIN_PASSWORD": "Admin1",
	"EVENTSTORE_OPS_PASSWORD":   "Ops1",
	"EVENTSTORE_ARENA_PASSWORD": "Arena1",
	"ARENA_BASE_URL":            "https://arena.example",
}

func loadCompose(t *testing.T, environment types.Mapping) (*types.Project, error) {
	t.Helper()
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  root,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(root, "compose.yaml")}},
		Environment: maps.Clone(environment), // the loader changes the map
	}, func(o *loader.Options) { o.SetProjectName("hexarena", true) })
}

func composed(t *testing.T) *types.Project {
	t.Helper()
	p, err := loadCompose(t, chosen)
	require.NoError(t, err)
	return p
}

var (
	storeNodes = []string{"eventstore1", "eventstore2", "eventstore3"}
	onceOnly   = []string{"certificates", "rights"}
)

func TestComposeNeedsEveryPassword(t *testing.T) {
	for name := range chosen {
		without := types.Mapping{}
		for other, value := range chosen {
			if other != name {
				without[other] = value
			}
		}
		_, err := loadCompose(t, without)
		require.ErrorContains(t, err, name)
	}
}

func TestComposeServices(t *testing.T) {
	p := composed(t)
	require.ElementsMatch(t, slices.Concat(storeNodes, onceOnly, []string{"arena", "arena2"}), p.ServiceNames())
	pinned := regexp.MustCompile(`^[a-z0-9/-]+:v?\d+\.\d+[a-z0-9.-]*$`)
	for name, s := range p.Services {
		require.Positive(t, s.MemLimit, "%s: a memory limit", name)
		require.False(t, s.Privileged, name)
		if s.Build == nil {
			require.Regexp(t, pinned, s.Image, "%s: a pinned image", name)
		}
		for dependency, how := range s.DependsOn {
			require.True(t, how.Required)
			want := types.ServiceConditionHealthy
			if slices.Contains(onceOnly, dependency) {
				want = types.ServiceConditionCompletedSuccessfully
			}
			require.Equal(t, want, how.Condition, "%s waits for %s", name, dependency)
		}
		if slices.Contains(onceOnly, name) {
			require.Empty(t, s.Restart, name)
			continue
		}
		require.Equal(t, types.RestartPolicyUnlessStopped, s.Restart, name)
		require.NotNil(t, s.HealthCheck, name)
		require.NotEmpty(t, s.HealthCheck.Test, name)
		require.False(t, s.HealthCheck.Disable, name)
		require.NotNil(t, s.StopGracePeriod, name)
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(p.Services["arena"].Build.DockerfileInline, -1) {
		require.Regexp(t, pinned, from[1])
	}
}

// compose.yaml publishes ports only on loopback. An operator who wants a public arena
// puts a proxy in front of it.
func TestComposePublishesOnlyOnLoopback(t *testing.T) {
	for name, s := range composed(t).Services {
		require.NotEqual(t, "host", s.NetworkMode, name)
		for _, port := range s.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, "%s publishes %s", name, port.Published)
		}
	}
}

func TestComposeCluster(t *testing.T) {
	p := composed(t)
	images, published := map[string]bool{}, map[string]bool{}
	for _, name := range storeNodes {
		s := p.Services[name]
		images[s.Image] = true
		env := func(variable string) string {
			value := s.Environment["EVENTSTORE_"+variable]
			require.NotNil(t, value, "%s: %s", name, variable)
			return *value
		}
		require.Regexp(t, `:24\.10\.`, s.Image)
		require.Equal(t, "3", env("CLUSTER_SIZE"))
		require.Equal(t, "false", env("INSECURE"))
		require.Equal(t, "false", env("DISCOVER_VIA_DNS"))
		others := slices.DeleteFunc(slices.Clone(storeNodes), func(other string) bool { return other == name })
		require.Equal(t, others[0]+":2113,"+others[1]+":2113", env("GOSSIP_SEED"))
		require.Equal(t, name, env("NODE_HOST_ADVERTISE_AS"))
		require.Equal(t, name, env("REPLICATION_HOST_ADVERTISE_AS"))
		require.Equal(t, "Admin1", env("DEFAULT_ADMIN_PASSWORD"))
		require.Equal(t, "Ops1", env("DEFAULT_OPS_PASSWORD"))
		for _, path := range []string{env("CERTIFICATE_FILE"), env("CERTIFICATE_PRIVATE_KEY_FILE")} {
			require.Equal(t, "certificates", volumeOf(s, path))
			require.Equal(t, name, filepath.Base(filepath.Dir(path)), "its own")
		}
		require.Equal(t, "trust", volumeOf(s, env("TRUSTED_ROOT_CERTIFICATES_PATH")))
		require.Equal(t, name+"-data", volumeOf(s, "/var/lib/eventstore"))
		require.Contains(t, s.HealthCheck.Test[1], env("TRUSTED_ROOT_CERTIFICATES_PATH")+"/ca.crt")
		require.Len(t, s.Ports, 1)
		published[s.Ports[0].Published] = true

		script := strings.Join(p.Services["certificates"].Command, "\n")
		require.Contains(t, script, name)
	}
	require.Len(t, images, 1)
	require.Len(t, published, 3)
}

// volumeOf returns the volume that is mounted at a path of a service.
func volumeOf(s types.ServiceConfig, path string) string {
	for _, v := range s.Volumes {
		if v.Type == types.VolumeTypeVolume && (path == v.Target || strings.HasPrefix(path, v.Target+"/")) {
			return v.Source
		}
	}
	return ""
}

// The log's volumes contain no secrets, and only the services that need the secrets
// mount the volumes with the secrets.
func TestComposeKeepsSecretsApart(t *testing.T) {
	p := composed(t)
	users := map[string][]string{}
	for name, s := range p.Services {
		for _, v := range s.Volumes {
			users[v.Source] = append(users[v.Source], name)
			require.Equal(t, types.VolumeTypeVolume, v.Type, "%s: %s", name, v.Source)
			if v.Source == "trust" || v.Source == "certificates" {
				require.Equal(t, name != "certificates", v.ReadOnly, "%s: %s", name, v.Source)
			}
		}
	}
	require.Len(t, users, len(p.Volumes), "every volume is used")
	require.Equal(t, []string{"certificates"}, users["authority"], "services that can make certificates")
	require.ElementsMatch(t, []string{"arena", "arena2"}, users["arena-secrets"])
	require.Equal(t, []string{"arena"}, users["arena-data"])
	require.Equal(t, []string{"arena2"}, users["arena2-data"])
	require.NotContains(t, users["certificates"], "arena")
	arena := p.Services["arena"]
	require.Equal(t, "arena-secrets", volumeOf(arena, *arena.Environment["ARENA_SECRETS"]))
	require.Equal(t, "arena-data", volumeOf(arena, *arena.Environment["ARENA_DATA"]))
	require.NotContains(t, arena.Environment, "EVENTSTORE_ADMIN_PASSWORD")
	text, err := os.ReadFile(filepath.Join(root, "compose.yaml"))
	require.NoError(t, err)
	require.NotContains(t, string(text), "changeit")
}

// Every ARENA_… variable sets a flag of `arena serve` to a valid value.
func TestComposeStartsTheArena(t *testing.T) {
	var c cli
	parser, err := kong.New(&c, kong.Name("arena"), kong.DefaultEnvars("ARENA"))
	require.NoError(t, err)
	var known []string
	for _, node := range parser.Model.Children {
		if node.Name == "serve" {
			for _, flag := range node.Flags {
				known = append(known, flag.Envs...)
			}
		}
	}
	arena := composed(t).Services["arena"]
	require.Empty(t, arena.Command)
	require.Contains(t, arena.Build.DockerfileInline, `CMD ["serve"]`)
	for name, value := range arena.Environment {
		if strings.HasPrefix(name, "ARENA_") {
			require.Contains(t, known, name)
			t.Setenv(name, *value)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "compose.yaml"))
	require.NoError(t, err)
	for _, name := range regexp.MustCompile(`\bARENA_[A-Z_]+\b`).FindAllString(string(text), -1) {
		require.Contains(t, append(known, "ARENA_USER_PASSWORD"), name)
	}

	_, err = parser.Parse([]string{"serve"})
	require.NoError(t, err)
	require.True(t, c.Serve.Production)
	require.Equal(t, "https://arena.example", c.Serve.BaseURL)
	require.Len(t, arena.Ports, 1)
	require.EqualValues(t, 8080, arena.Ports[0].Target)
	require.Equal(t, "0.0.0.0:8080", c.Serve.Listen)
	require.Contains(t, arena.HealthCheck.Test, "http://127.0.0.1:8080/health")
}

func TestComposeConnectsByTLS(t *testing.T) {
	p := composed(t)
	arena := p.Services["arena"]
	const authority = "/trust/ca.crt"
	require.Equal(t, "trust", volumeOf(arena, authority))
	connection := *arena.Environment["ARENA_EVENTSTORE"]
	require.Contains(t, connection, authority)
	connection = strings.Replace(connection, authority, certificate(t), 1)

	config, err := es.ParseConnectionString(connection)
	require.NoError(t, err)
	require.NoError(t, config.Validate())
	require.False(t, config.DisableTLS)
	require.False(t, config.SkipCertificateVerification)
	require.NotNil(t, config.RootCAs)
	require.Equal(t, es.NodePreferenceLeader, config.NodePreference)
	require.Equal(t, "arena", config.Username)
	require.Equal(t, "Arena1", config.Password)
	var seeds []string
	for _, seed := range config.GossipSeeds {
		require.EqualValues(t, 2113, seed.Port)
		seeds = append(seeds, seed.Host)
	}
	require.Equal(t, storeNodes, seeds)

	log, err := esdb.Open(connection, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, log.Close())
	require.Contains(t, strings.Join(p.Services["rights"].Command, ""), `"loginName\":\"arena\"`)
}

// certificate writes a certificate to a file.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return path
}

// The image contains every folder with code.
func TestComposeBuildsTheWholeArena(t *testing.T) {
	folders, err := os.ReadDir(root)
	require.NoError(t, err)
	build := composed(t).Services["arena"].Build
	require.Empty(t, build.Dockerfile)
	for _, f := range folders {
		if f.IsDir() && holdsCode(t, filepath.Join(root, f.Name())) {
			require.Contains(t, build.DockerfileInline, "COPY "+f.Name()+" "+f.Name()+"\n")
		}
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)[1]
	require.True(t, bytes.HasPrefix([]byte(build.DockerfileInline), append([]byte("FROM golang:"), version...)))
}

func holdsCode(t *testing.T, folder string) bool {
	t.Helper()
	found := false
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") {
			found = true
			return fs.SkipAll
		}
		return err
	}))
	return found
}
