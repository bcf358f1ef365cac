package lease_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/lease"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

// folderVariable is an environment variable that names a folder. If it is set, the
// test binary acts as a second process: it plays from that folder until it is
// killed.
const folderVariable = "LEASE_TEST_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(folderVariable); folder != "" {
		playUntilKilled(folder)
	}
	logtest.VerifyNoLeaks(m)
}

func playUntilKilled(folder string) {
	if _, err := lease.Acquire(context.Background(), memory.New(), folder); err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("playing\n")
	select {}
}

func TestFolderAllowsOneProcess(t *testing.T) {
	folder := t.TempDir()
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), folderVariable+"="+folder)
	out, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "playing\n", line)

	_, err = lease.Acquire(t.Context(), memory.New(), folder)
	require.ErrorContains(t, err, "another arena uses the data folder")

	require.NoError(t, other.Process.Kill())
	require.Error(t, other.Wait())
	release(t, acquire(t, memory.New(), folder))
}

func TestFolderAllowsOneLease(t *testing.T) {
	folder := t.TempDir()
	l := acquire(t, memory.New(), folder)
	_, err := lease.Acquire(t.Context(), memory.New(), folder)
	require.ErrorContains(t, err, "another arena uses the data folder")
	release(t, l)
}

func TestFolderMustExist(t *testing.T) {
	_, err := lease.Acquire(t.Context(), memory.New(), filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTornIDIsReplaced(t *testing.T) {
	folder := t.TempDir()
	before := acquire(t, memory.New(), folder)
	release(t, before)
	for _, torn := range []string{"", before.Holder()[:20]} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "player.id"), []byte(torn), 0o600))
		after := acquire(t, memory.New(), folder)
		release(t, after)
		require.NotEqual(t, before.Holder(), after.Holder())
	}
}

func TestUnreadableIDIsAnError(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "player.id"), 0o700))
	for range 2 { // the second call shows that the first failure released the lock
		_, err := lease.Acquire(t.Context(), memory.New(), folder)
		require.ErrorContains(t, err, "player id")
	}
}
