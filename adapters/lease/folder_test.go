package lease_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/lease"
	"hexarena/eventstore/logtest"
)

// folderVariable is an environment variable that names a folder. If it is set, the
// test binary acts as a second process: it opens that folder until it is
// killed.
const folderVariable = "LEASE_TEST_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(folderVariable); folder != "" {
		playUntilKilled(folder)
	}
	logtest.VerifyNoLeaks(m)
}

func playUntilKilled(folder string) {
	if _, err := lease.OpenFolder(folder); err != nil {
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

	_, err = lease.OpenFolder(folder)
	require.ErrorContains(t, err, "another arena uses the data folder")

	require.NoError(t, other.Process.Kill())
	require.Error(t, other.Wait())
	f, err := lease.OpenFolder(folder)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestFolderOpensOnce(t *testing.T) {
	folder := t.TempDir()
	f, err := lease.OpenFolder(folder)
	require.NoError(t, err)
	_, err = lease.OpenFolder(folder)
	require.ErrorContains(t, err, "another arena uses the data folder")
	require.NoError(t, f.Close())
}

func TestFolderMustExist(t *testing.T) {
	_, err := lease.OpenFolder(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTornIDIsReplaced(t *testing.T) {
	folder := t.TempDir()
	id := func() string {
		f, err := lease.OpenFolder(folder)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return f.ID
	}
	before := id()
	require.Equal(t, before, id())
	for _, torn := range []string{"", before[:20]} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "player.id"), []byte(torn), 0o600))
		require.NotEqual(t, before, id())
	}
}

func TestUnreadableIDIsAnError(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "player.id"), 0o700))
	for range 2 { // the second call shows that the first failure released the lock
		_, err := lease.OpenFolder(folder)
		require.ErrorContains(t, err, "player id")
	}
}
