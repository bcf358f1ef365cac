package disk

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hexarena/eventstore/node/record"
)

// The seal is a file in the folder of a closed log or of a backup. It lists the other
// files and their sizes. It also contains the checksums of files in which Pebble could
// mistake damage for the effects of a crash. Opening the log removes the seal, so the
// folder of a crashed node has no seal.
//
//	log sealed, format 1
//	name size checksum      for each file; tables contain their own checksums, so they have - here
//	checksum                of the lines above
const (
	sealName     = "SEAL"
	sealTitle    = "log sealed, format "
	unsummed     = "-"
	tableSuffix  = ".sst"
	walSuffix    = ".log"
	markerPrefix = "marker."
	newSuffix    = ".new"
)

// Seal seals the folder of a closed log.
func Seal(fs vfs.FS, dir, format string) error {
	lines, err := inventory(fs, dir)
	if err != nil {
		return fmt.Errorf("seal %s: %w", dir, err)
	}
	text := strings.Join(append([]string{sealTitle + format}, lines...), "\n") + "\n"
	text += sumText(crc32.Checksum([]byte(text), record.Castagnoli)) + "\n"
	if err := writeSeal(fs, dir, text); err != nil {
		return fmt.Errorf("seal %s: %w", dir, err)
	}
	return nil
}

// writeSeal writes the seal. If it is interrupted, the folder has no seal.
func writeSeal(fs vfs.FS, dir, text string) error {
	path := fs.PathJoin(dir, sealName)
	if err := writeFile(fs, path+newSuffix, text); err != nil {
		return err
	}
	if err := fs.Rename(path+newSuffix, path); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// inventory returns a line for each file of a log, sorted by name.
func inventory(fs vfs.FS, dir string) ([]string, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var lines []string
	for _, name := range names {
		if !IsLogFile(name) {
			continue
		}
		line, err := inventoryLine(fs, dir, name)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// IsLogFile reports whether a name belongs to a Pebble file that outlives the
// process. The seal ignores other files.
func IsLogFile(name string) bool {
	return strings.HasSuffix(name, tableSuffix) || strings.HasSuffix(name, walSuffix) || strings.HasPrefix(name, "MANIFEST-") ||
		strings.HasPrefix(name, "OPTIONS-") || strings.HasPrefix(name, markerPrefix)
}

// IsManifestMarker reports whether a name belongs to a manifest marker. Every
// Pebble store has a manifest marker, which names the store's current manifest.
func IsManifestMarker(name string) bool { return strings.HasPrefix(name, markerPrefix+"manifest.") }

func inventoryLine(fs vfs.FS, dir, name string) (string, error) {
	f, err := fs.Open(fs.PathJoin(dir, name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	sum := unsummed
	if !strings.HasSuffix(name, tableSuffix) {
		h := crc32.New(record.Castagnoli)
		if _, err := io.Copy(h, f); err != nil {
			return "", err
		}
		sum = sumText(h.Sum32())
	}
	return fmt.Sprintf("%s %d %s", name, info.Size(), sum), nil
}

func sumText(sum uint32) string { return fmt.Sprintf("%08x", sum) }

// CheckSeal compares a folder with its seal and returns the log's format version. found
// is false if the folder has no seal, which means that its node was not closed
// properly.
func CheckSeal(fs vfs.FS, dir string) (found bool, format string, err error) {
	text, err := readFile(fs, fs.PathJoin(dir, sealName))
	if errors.Is(err, os.ErrNotExist) {
		return false, "", nil
	}
	if err != nil {
		return false, "", fmt.Errorf("seal of %s: %w", dir, err)
	}
	format, want, ok := readSeal(text)
	if !ok {
		return true, "", fmt.Errorf("%w: the seal of %s has changed since it was written", record.ErrDamaged, dir)
	}
	got, err := inventory(fs, dir)
	if err != nil {
		return true, "", fmt.Errorf("seal of %s: %w", dir, err)
	}
	return true, format, compareInventories(dir, want, got)
}

func readSeal(text string) (format string, lines []string, ok bool) {
	lines = strings.Split(text, "\n")
	n := len(lines) - 2
	if n < 1 || lines[n+1] != "" {
		return "", nil, false
	}
	body := strings.Join(lines[:n], "\n") + "\n"
	format, ok = strings.CutPrefix(lines[0], sealTitle)
	return format, lines[1:n], ok && lines[n] == sumText(crc32.Checksum([]byte(body), record.Castagnoli))
}

// compareInventories returns an error that describes the first difference.
func compareInventories(dir string, want, got []string) error {
	for i := range max(len(want), len(got)) {
		w, g := lineAt(want, i), lineAt(got, i)
		if w == g {
			continue
		}
		name, _, _ := strings.Cut(w, " ")
		if found, _, _ := strings.Cut(g, " "); name == "" || g != "" && found < name {
			return fmt.Errorf("%w: %s was not in %s when the log was closed", record.ErrDamaged, found, dir)
		} else if found != name {
			return fmt.Errorf("%w: %s is missing from %s", record.ErrDamaged, name, dir)
		}
		return fmt.Errorf("%w: %s in %s has changed since the log was closed", record.ErrDamaged, name, dir)
	}
	return nil
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// BreakSeal removes the seal, if there is one, and syncs the folder.
func BreakSeal(fs vfs.FS, dir string) error {
	err := fs.Remove(fs.PathJoin(dir, sealName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncDir(fs, dir)
	}
	if err != nil {
		err = fmt.Errorf("remove the seal of %s: %w", dir, err)
	}
	return err
}

func writeFile(fs vfs.FS, path, text string) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func readFile(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(f)
	return string(text), errors.Join(err, f.Close())
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
