package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// A backup during appends is a complete log. It contains every event that was
// acknowledged before the backup began.
func TestBackupDuringAppends(t *testing.T) {
	dir := t.TempDir()
	n, err := Open(Options{Dir: filepath.Join(dir, "log"), Logger: quiet})
	require.NoError(t, err)
	load := newLoad()
	var running sync.WaitGroup
	defer func() {
		load.stop.Store(true)
		running.Wait()
		require.NoError(t, n.Close())
	}()
	for w := range 4 {
		running.Go(func() { load.write(t, n, fmt.Sprintf("s-%d", w), 1) })
	}
	running.Go(func() { load.flush(n) })
	events := 0
	for i := range 5 {
		for load.progress.Load() < int64(100*i) {
			select {
			case <-load.failed:
				t.FailNow() // the writer has already reported the error
			default:
			}
			<-time.After(abandonPoll)
		}
		load.mu.Lock()
		acknowledged := map[string]int{}
		for stream, count := range load.acknowledged {
			acknowledged[stream] = count
			events += count
		}
		load.mu.Unlock()
		target := filepath.Join(dir, "deep", fmt.Sprint(i))
		done, err := n.Backup(t.Context(), target)
		require.NoError(t, err)
		require.Equal(t, target, done.Target)
		found, err := storage.Check(t.Context(), target, nil, nil)
		require.NoError(t, err)
		require.Empty(t, found.Named)
		require.True(t, found.Sealed)
		copied, err := Open(Options{Dir: target, Logger: quiet})
		require.NoError(t, err)
		require.GreaterOrEqual(t, copied.log.Tail.End(), done.Position)
		requireWhole(t, copied, acknowledged, 1)
		require.NoError(t, copied.Close())
	}
	t.Logf("5 backups during appends, %d events acknowledged before them, 0 missing", events)
}

func TestBackupRejectsUnusableTargets(t *testing.T) {
	dir := t.TempDir()
	n, err := Open(Options{Dir: filepath.Join(dir, "log"), Logger: quiet})
	require.NoError(t, err)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	full := filepath.Join(dir, "full")
	require.NoError(t, os.MkdirAll(filepath.Join(full, "letters"), 0o700))
	for _, c := range []struct{ target, want string }{
		{"", "want an absolute path"},
		{"relative", "want an absolute path"},
		{file, "is a file"},
		{full, "is not empty"},
		{filepath.Join(dir, "log"), "within the log's own folder"},
		{filepath.Join(dir, "log", "backup"), "within the log's own folder"},
		{filepath.Join(file, "backup"), "not a directory"},
	} {
		_, err := n.Backup(t.Context(), c.target)
		require.ErrorIs(t, err, storage.ErrTarget, c.target)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "mine", string(kept))
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.Mkdir(empty, 0o700))
	_, err = n.Backup(t.Context(), empty)
	require.NoError(t, err, "an empty folder is accepted")
	require.NoError(t, n.Close())
}

// A backup to a full disk leaves nothing behind, and the node keeps working.
func TestBackupOnAFullDisk(t *testing.T) {
	for nth := int64(1); ; nth++ {
		mem := vfs.NewMem()
		var seen atomic.Int64
		n := openOn(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if strings.HasPrefix(op.Path, "target") && isChange(op) && op.Kind != errorfs.OpRemoveAll && seen.Add(1) == nth {
				return syscall.ENOSPC
			}
			return nil
		})))
		put(t, n, "s", writer.NoStream)
		_, err := n.Backup(t.Context(), "target")
		if err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			names, listed := mem.List("target")
			require.True(t, listed != nil || len(names) == 0, "failure %d left %v behind", nth, names)
		}
		put(t, n, "s", 0)
		require.NoError(t, n.Close())
		if seen.Load() < nth {
			require.NoError(t, err)
			t.Logf("%d failures tried; the node continued after each", nth-1)
			return
		}
	}
}

func (f *fixture) admin(r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	f.node.Admin().ServeHTTP(answer, r)
	return answer
}

func order(path, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8082"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", wire.ContentJSON)
	return r
}

func TestAdminBacksUpAndScavenges(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(5)...)
	f.setMeta("s", `{"$maxCount":2}`)
	answer := f.admin(order(BackupPath, `{"target":"copy"}`))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
	var done BackedUp
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &done))
	require.Equal(t, f.node.log.Tail.End(), done.Position)
	require.NotZero(t, done.Bytes)
	answer = f.admin(order(BackupPath, `{"target":"copy"}`))
	require.Equal(t, http.StatusUnprocessableEntity, answer.Code)
	require.Contains(t, answer.Body.String(), "copy is not empty")

	answer = f.admin(order(ScavengePath, ""))
	require.Equal(t, http.StatusOK, answer.Code)
	lines := strings.Split(strings.TrimSpace(answer.Body.String()), "\n")
	var last ScavengeLine
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	require.EqualValues(t, 3, last.Done.Events)

	require.True(t, f.node.maintenance.TryLock())
	require.Equal(t, http.StatusConflict, f.admin(order(ScavengePath, "")).Code)
	require.Equal(t, http.StatusConflict, f.admin(order(BackupPath, `{"target":"other"}`)).Code)
	f.node.maintenance.Unlock()
}

func TestAdminRejectsMalformedRequests(t *testing.T) {
	f := serve(t)
	for name, c := range map[string]struct {
		change func(*http.Request)
		body   string
		path   string
		want   int
	}{
		"a wrong method":    {func(r *http.Request) { r.Method = http.MethodGet }, "", ScavengePath, http.StatusMethodNotAllowed},
		"a form":            {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, `{"target":"copy"}`, BackupPath, http.StatusUnsupportedMediaType},
		"a malformed order": {func(*http.Request) {}, "copy", BackupPath, http.StatusBadRequest},
		"an unknown field":  {func(*http.Request) {}, `{"goal":"copy"}`, BackupPath, http.StatusBadRequest},
		"an unknown path":   {func(*http.Request) {}, "", AdminPrefix + "burn", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			r := order(c.path, c.body)
			c.change(r)
			require.Equal(t, c.want, f.admin(r).Code)
		})
	}
}

// A scavenge ends when its caller disconnects or its server shuts down.
func TestAdminEndsWithItsServer(t *testing.T) {
	f := serve(t)
	a := &admin{Node: f.node}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	server := &http.Server{}
	r := order(ScavengePath, "")
	ctx, cancel := a.while(r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, server)))
	defer cancel()
	require.NoError(t, server.Shutdown(t.Context()))
	<-ctx.Done()
}
