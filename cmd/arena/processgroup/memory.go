// Package processgroup starts programs in process groups of their own. So a program and
// its children can be ended together, and Ctrl-C in a terminal does not end them.
package processgroup

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Memory returns the resident memory of a process group, in bytes. It reads /proc,
// so ok is false on systems without it. Shared pages count for each process.
func Memory(group int) (total uint64, ok bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, false
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // the process has ended
		}
		// The name of the program is in parentheses and may contain spaces. After it come
		// the state, the parent, the group (third) and, as number 22, the pages.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 22 || fields[2] != strconv.Itoa(group) {
			continue
		}
		if pages, err := strconv.ParseUint(fields[21], 10, 64); err == nil {
			total += pages * uint64(os.Getpagesize())
		}
	}
	return total, total > 0
}
