package view_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/cmd/arena/practice"
	"hexarena/eventstore/logtest"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

// call runs a command in this process.
func call(ctx context.Context, out, errOut io.Writer, args ...string) error {
	var cli struct{ practice.Cmds }
	parser, err := kong.New(&cli, kong.Writers(out, errOut))
	if err != nil {
		panic(err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return err
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	return parsed.Run()
}

// play plays matches into a new folder, and returns the folder and the records.
func play(t *testing.T, n int) (dir string, list []rest.LocalMatch) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "results")
	require.NoError(t, call(t.Context(), io.Discard, io.Discard, "play", "house:greedy", "house:random", "house:random", "-n", fmt.Sprint(n), "--seed", "x", "--out", dir))
	files, err := filepath.Glob(filepath.Join(dir, "matches", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		var m rest.LocalMatch
		require.NoError(t, json.Unmarshal(read(t, file), &m))
		list = append(list, m)
	}
	return dir, list
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return text
}

// viewing is a viewer that runs in this process.
type viewing struct {
	t          *testing.T
	base, path string // of the printed address
	errOut     bytes.Buffer
}

// start starts a viewer. It ends with the test.
func start(t *testing.T, args ...string) *viewing {
	t.Helper()
	v := &viewing{t: t}
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := call(ctx, out, &v.errOut, append([]string{"view"}, args...)...)
		_ = out.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended, "the viewer ends without an error")
	})
	line, err := bufio.NewReader(in).ReadString('\n')
	require.NoError(t, err)
	_, address, found := strings.Cut(line, "http://")
	require.True(t, found, line)
	address, _, _ = strings.Cut(address, " ")
	host, path, _ := strings.Cut(address, "/")
	v.base, v.path = "http://"+host, "/"+path
	return v
}

// get returns a page or a response of the API.
func (v *viewing) get(path string, status int) string {
	v.t.Helper()
	return v.getAs(path, "", status)
}

func (v *viewing) getAs(path, host string, status int) string {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.base+path, nil)
	require.NoError(v.t, err)
	r.Host = host
	r.Header.Set("Accept", "text/html")
	r.Close = true
	answer, err := new(http.Client).Do(r)
	require.NoError(v.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(v.t, err)
	require.Equal(v.t, status, answer.StatusCode, "%s: %s", path, text)
	return string(text)
}

func TestViewAFolder(t *testing.T) {
	dir, list := play(t, 3)
	v := start(t, dir)
	require.Equal(t, "/", v.path)
	page := v.get("/", http.StatusOK)
	require.Contains(t, page, "3 records in <bdi>results</bdi>")
	for _, m := range list {
		require.Contains(t, page, `href="/watch/`+m.ID+`"`)
		require.Contains(t, v.get("/watch/"+m.ID, http.StatusOK), fmt.Sprintf(`data-events="%d"`, len(m.Replay)))
		require.JSONEq(t, string(read(t, filepath.Join(dir, "matches", m.ID+".json"))), v.get("/matches/"+m.ID, http.StatusOK))
		var frames rest.Frames
		require.NoError(t, json.Unmarshal([]byte(v.get("/matches/"+m.ID+"/frames?after=10&limit=5&seat=all", http.StatusOK)), &frames))
		require.Len(t, frames.Frames, 5)
		require.Equal(t, 11, frames.Frames[0].Seq)
		require.NotEmpty(t, frames.Board.Hexes)
		require.NotNil(t, frames.Frames[0].Hand)
		for _, log := range m.DecisionLogs {
			last := log.Decisions.Decisions[len(log.Decisions.Decisions)-1]
			require.Contains(t, v.get("/bot/"+log.BotID+"/log/"+m.ID, http.StatusOK), fmt.Sprintf("All %d decisions", len(log.Decisions.Decisions)))
			require.Contains(t, v.get(fmt.Sprintf("/watch/%s/decision/%d", m.ID, last.ID), http.StatusOK), fmt.Sprintf("decision %d: %s", last.ID, last.Kind))
		}
	}
	m := list[0].ID
	for path, status := range map[string]int{
		"/watch/x": http.StatusNotFound, "/matches/x": http.StatusNotFound, "/watch/" + m + "/decision/99999": http.StatusNotFound, "/watch/" + m + "/decision/x": http.StatusNotFound,
		"/bots/x/matches/" + m + "/decisions": http.StatusNotFound, "/ladder/standard": http.StatusNotFound, "/matches/" + m + "/frames?seat=3": http.StatusUnprocessableEntity,
		"/matches/" + m + "/frames?seat=%2B1": http.StatusUnprocessableEntity, "/matches/" + m + "/frames?seat=-0": http.StatusUnprocessableEntity,
		"/matches/" + m + "/frames?after=x": http.StatusUnprocessableEntity, "/matches/..%2f..%2fseries": http.StatusNotFound, "/?page=99": http.StatusOK,
	} {
		v.get(path, status)
	}
	v.getAs("/", "records.example.org", http.StatusMisdirectedRequest)
	v.getAs("/", "localhost:1234", http.StatusOK)
}

// One match can be named by its file, or by its id and a folder.
func TestViewOneMatch(t *testing.T) {
	dir, list := play(t, 3)
	m := list[1]
	file := filepath.Join(dir, "matches", m.ID+".json")
	for _, args := range [][]string{{file}, {m.ID, "--in", dir}, {strings.ToUpper(m.ID), "--in", filepath.Dir(dir)}, {m.ID, "--in", filepath.Dir(file)}} {
		v := start(t, args...)
		require.Equal(t, "/watch/"+m.ID, v.path)
		require.Contains(t, v.get(v.path, http.StatusOK), "greedy")
	}

	// A file may contain several records. A record from an arena has no decision logs.
	plain, err := json.Marshal(list[0].Match)
	require.NoError(t, err)
	several := filepath.Join(t.TempDir(), "several")
	require.NoError(t, os.WriteFile(several, append(append(plain, '\n'), read(t, file)...), 0o600))
	v := start(t, several)
	require.Contains(t, v.get("/", http.StatusOK), "2 records in <bdi>several</bdi>")
	require.NotContains(t, v.get("/watch/"+list[0].ID, http.StatusOK), "data-decision")
	require.Contains(t, v.get("/watch/"+m.ID, http.StatusOK), "data-decision")
}

// A match of an arena can be named by its address, or by its id and --arena. Without a
// session, it has no decision logs.
func TestViewMatchOfAnArena(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	_, list := play(t, 3)
	text, err := json.Marshal(list[0].Match)
	require.NoError(t, err)
	arena := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	t.Cleanup(arena.Close)
	id := list[0].ID
	for _, args := range [][]string{{arena.URL + "/watch/" + id}, {arena.URL + "/matches/" + id}, {id, "--arena", arena.URL}} {
		v := start(t, args...)
		require.Equal(t, "/watch/"+id, v.path)
		require.NotContains(t, v.get(v.path, http.StatusOK), "data-decision")
		require.Contains(t, v.errOut.String(), "without decision logs: not signed in at "+arena.URL)
	}
	err = call(t.Context(), io.Discard, io.Discard, "view", arena.URL+"/watch/"+list[1].ID)
	require.ErrorContains(t, err, "the arena returned the record of another match: "+id)
}

func TestViewRejectsWhatItCannotShow(t *testing.T) {
	dir, list := play(t, 3)
	forged := list[0].Match
	forged.Replay = forged.Replay[:len(forged.Replay)-1]
	text, err := json.Marshal(forged)
	require.NoError(t, err)
	wrong := filepath.Join(t.TempDir(), "wrong")
	require.NoError(t, os.WriteFile(wrong, text, 0o600))
	garbage := filepath.Join(t.TempDir(), "garbage")
	require.NoError(t, os.WriteFile(garbage, []byte("{}\n"), 0o600))
	twice := t.TempDir()
	for _, name := range []string{"old", "new"} {
		require.NoError(t, os.CopyFS(filepath.Join(twice, name), os.DirFS(dir)))
	}
	for want, args := range map[string][]string{
		`"nothing" is neither a file, nor a folder, nor the id or the address of a match`: {"nothing"},
		"has no record of match " + forged.ID:                                             {forged.ID, "--in", t.TempDir()},
		"there are several records of match " + forged.ID:                                 {forged.ID, "--in", twice},
		"contains several series; name one of them, such as":                              {twice},
		"contains no records of matches":                                                  {t.TempDir()},
		"the record does not verify: ":                                                    {wrong},
		"not a record of a match":                                                         {garbage},
		"--in needs the id of a match":                                                    {dir, "--in", dir},
		"--arena needs the id of a match":                                                 {dir, "--arena", "http://127.0.0.1:1"},
		"--key and --key-id need a match at an arena":                                     {dir, "--key", wrong},
		"--in cannot be combined with --arena":                                            {forged.ID, "--in", dir, "--arena", "http://127.0.0.1:1"},
		"is not the address of a match":                                                   {"http://127.0.0.1:1/bots"},
		"--listen 0.0.0.0:0: the pages are only for this machine":                         {dir, "--listen", "0.0.0.0:0"},
		"--listen: listen tcp":                                                            {dir, "--listen", "127.0.0.1:99999"},
	} {
		require.ErrorContains(t, call(t.Context(), io.Discard, io.Discard, append([]string{"view"}, args...)...), want)
	}

	// A broken record in a folder has a page that says so. The other records work.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "matches", forged.ID+".json"), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "matches", list[2].ID+".json"), nil, 0o600))
	v := start(t, dir)
	index := v.get("/", http.StatusOK)
	require.Contains(t, index, "match "+list[2].ID+": unexpected end of JSON input")
	require.Contains(t, index, `href="/watch/`+list[1].ID)
	require.Contains(t, v.get("/watch/"+forged.ID, http.StatusUnprocessableEntity), "does not verify")
	v.get("/watch/"+list[1].ID, http.StatusOK)
}

// A folder may have a name that would be a pattern in a shell, and bots may have names
// that look like HTML.
func TestViewOddNames(t *testing.T) {
	dir, list := play(t, 3)
	odd := filepath.Join(t.TempDir(), "runs[1]")
	require.NoError(t, os.CopyFS(odd, os.DirFS(dir)))
	file := filepath.Join(odd, "matches", list[0].ID+".json")
	text := bytes.ReplaceAll(read(t, file), []byte(`"botName":"greedy"`), []byte(`"botName":"<i>greedy</i>"`))
	require.NoError(t, os.WriteFile(file, text, 0o600))
	v := start(t, odd)
	require.Contains(t, v.get("/", http.StatusOK), "&lt;i&gt;greedy&lt;/i&gt;")
	page := v.get("/watch/"+list[0].ID, http.StatusOK)
	require.Contains(t, page, "&lt;i&gt;greedy&lt;/i&gt;")
	require.NotContains(t, page, "<i>greedy")
	start(t, list[0].ID, "--in", odd)
}

func TestNotes(t *testing.T) {
	dir, list := play(t, 3)
	m, other := list[0], list[1]
	decisions := m.DecisionLogs[0].Decisions.Decisions
	notes := filepath.Join(t.TempDir(), "notes.jsonl")
	line := func(match string, decision int, note string) string {
		return fmt.Sprintf(`{"match":%q,"decision":%d,"note":%s}`, match, decision, note)
	}
	write := func(lines ...string) {
		t.Helper()
		require.NoError(t, os.WriteFile(notes, []byte(strings.Join(lines, "\n")), 0o600))
	}
	good := line(m.ID, decisions[1].ID, `"first"`)
	for want, lines := range map[string][]string{
		"line 2: want {\"match\":ID,\"decision\":NUMBER,\"note\":TEXT OR JSON}": {good, "thinking"},
		`line 3: want {"match"`:                                   {good, "", `{"match":"x","move":1}`},
		"line 2: match, decision or note is missing":              {good, `{"match":"x","decision":1}`},
		"line 2: a line must contain only one JSON object":        {good, good + good},
		"line 2: match " + m.ID + " has no decision 99999":        {good, line(m.ID, 99999, `""`)},
		`no line is about a match of results (line 1, match "x")`: {line("x", 1, `"a"`), line("y", 1, `"a"`)},
	} {
		write(lines...)
		require.ErrorContains(t, call(t.Context(), io.Discard, io.Discard, "view", dir, "--notes", notes), want)
	}

	// The last note about a decision counts. Notes about matches without a record are
	// ignored, because an interrupted match leaves them behind.
	write(line("x", 1, `"interrupted"`), good, line(m.ID, decisions[1].ID, `"second"`), line(other.ID, decisions[0].ID, `{"value":[0.5,true]}`))
	v := start(t, dir, "--notes", notes)
	require.Equal(t, "--notes "+notes+`: ignored lines about matches without a record here: 1, beginning with line 1, match "x"`+"\n", v.errOut.String())
	page := v.get(fmt.Sprintf("/watch/%s/decision/%d", m.ID, decisions[1].ID), http.StatusOK)
	require.Contains(t, page, "second</pre>")
	require.NotContains(t, page, "first")
	require.Contains(t, v.get(fmt.Sprintf("/watch/%s/decision/%d", other.ID, decisions[0].ID), http.StatusOK), "&#34;value&#34;: [\n    0.5,\n    true\n  ]")
	require.Contains(t, v.get("/bot/"+m.DecisionLogs[0].BotID+"/log/"+m.ID, http.StatusOK), "second</pre>")
}
