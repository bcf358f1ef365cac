package node

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// rawLog is the Pebble store of a closed log. Its methods have their own copy of
// the on-disk key layout.
type rawLog struct {
	t  *testing.T
	db *pebble.DB
}

// editLog changes a closed log in ways that no node would. It leaves the log without a
// seal, as a crash does.
func editLog(t *testing.T, fs vfs.FS, edit func(rawLog)) {
	t.Helper()
	db, err := pebble.Open("log", &pebble.Options{FS: fs, Logger: silent{t}, FormatMajorVersion: pebble.FormatNewest})
	require.NoError(t, err)
	edit(rawLog{t, db})
	require.NoError(t, db.Close())
	require.NoError(t, fs.Remove("log/SEAL"))
}

// silent is a logger for Pebble that reports only fatal errors.
type silent struct{ testing.TB }

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

var keyOfFormat = []byte("\x00format")

func keyOfRecord(position uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{1}, position)
}

func keyOfEntry(stream string, revision uint64) []byte {
	return binary.BigEndian.AppendUint64(nameKey(2, stream), revision)
}

func keyOfCut(stream string) []byte { return nameKey(3, stream) }

func nameKey(prefix byte, stream string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{prefix}, uint16(len(stream))), stream...)
}

func (l rawLog) value(key []byte) []byte {
	l.t.Helper()
	value, closer, err := l.db.Get(key)
	require.NoError(l.t, err)
	defer func() { require.NoError(l.t, closer.Close()) }()
	return append([]byte{}, value...)
}

func (l rawLog) set(key, value []byte) {
	l.t.Helper()
	require.NoError(l.t, l.db.Set(key, value, pebble.Sync))
}

func (l rawLog) delete(key []byte) {
	l.t.Helper()
	require.NoError(l.t, l.db.Delete(key, pebble.Sync))
}

// change replaces a key's value.
func (l rawLog) change(key []byte, how func([]byte) []byte) {
	l.t.Helper()
	l.set(key, how(l.value(key)))
}

// position returns the position of an event.
func (l rawLog) position(stream string, revision uint64) uint64 {
	l.t.Helper()
	return binary.BigEndian.Uint64(l.value(keyOfEntry(stream, revision)))
}

// The function summed() returns the value of a cut: two numbers and a checksum over the
// key and both numbers.
func summed(key []byte, revision, position uint64) []byte {
	value := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, revision), position)
	table := crc32.MakeTable(crc32.Castagnoli)
	return binary.BigEndian.AppendUint32(value, crc32.Update(crc32.Checksum(key, table), table, value))
}

// saveFile writes a file and syncs it.
func saveFile(fs vfs.FS, path, text string) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	return errors.Join(err, f.Sync(), f.Close())
}

func loadFile(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(f)
	return string(text), errors.Join(err, f.Close())
}
