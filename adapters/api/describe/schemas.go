package describe

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"go.yaml.in/yaml/v3"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/beacon"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/domain/stats"
)

// The huma library derives the schemas of the document from the Go types that the
// API encodes. The file schemas.yaml adds what a Go type cannot express, such as a
// range, a closed set of names, or null. Tests validate every response against the
// schemas.

const schemaPrefix = "#/components/schemas/"

// schemaNames contains the schema names of the types whose Go name does not suit
// the document.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[rest.AccountPatch]():       "PatchMeInput",
	reflect.TypeFor[rest.MailsPatch]():         "PatchMailsInput",
	reflect.TypeFor[rest.SignIn]():             "SendSignInLinkInput",
	reflect.TypeFor[rest.SignInConfirmation](): "ConfirmSignInInput",
	reflect.TypeFor[rest.Key]():                "ApiKeyMeta",
	reflect.TypeFor[rest.Keys]():               "ListKeysOutput",
	reflect.TypeFor[rest.NewKey]():             "RegisterKeyInput",
	reflect.TypeFor[rest.Bots]():               "ListBotsOutput",
	reflect.TypeFor[rest.NewBot]():             "RegisterBotInput",
	reflect.TypeFor[rest.BotPatch]():           "ChangeBotInput",
	reflect.TypeFor[rest.BotRecent]():          "BotRecent",
	reflect.TypeFor[rest.Check]():              "CheckBotOutput",
	reflect.TypeFor[rest.Step]():               "CheckStep",
	reflect.TypeFor[rest.Decision]():           "Decision",
	reflect.TypeFor[rest.Decisions]():          "GetDecisionsOutput",
	reflect.TypeFor[rest.Trial]():              "Trial",
	reflect.TypeFor[rest.Matches]():            "ListMatchesOutput",
	reflect.TypeFor[rest.MatchSummary]():       "MatchSummary",
	reflect.TypeFor[rest.MatchPlayer]():        "MatchPlayer",
	reflect.TypeFor[rest.MatchSeat]():          "MatchSeat",
	reflect.TypeFor[rest.Frames]():             "FramesBody",
	reflect.TypeFor[stats.Totals]():            "ResourceTotals",
	reflect.TypeFor[stats.Seat]():              "SeatStatistics",
	reflect.TypeFor[stats.Trades]():            "PlayerTrades",
	reflect.TypeFor[stats.Bank]():              "BankTrades",
	reflect.TypeFor[stats.Place]():             "OpeningPlace",
	reflect.TypeFor[rest.LiveMatches]():        "ListLiveOutput",
	reflect.TypeFor[rest.LiveFrame]():          "LiveFrame",
	reflect.TypeFor[rest.LiveMatch]():          "LiveMatch",
	reflect.TypeFor[rest.Leaderboard]():        "LeaderboardBody",
	reflect.TypeFor[rest.LeaderboardRow]():     "LeaderboardRow",
	reflect.TypeFor[rest.Inclusion]():          "InclusionBody",
	reflect.TypeFor[rest.Consistency]():        "ConsistencyBody",
	reflect.TypeFor[rest.LadderEvents]():       "ListLadderEventsOutput",
	reflect.TypeFor[rest.LadderEvent]():        "LadderEvent",
	reflect.TypeFor[rest.SeedKey]():            "SeedKeyBody",
	reflect.TypeFor[rest.SeedKeys]():           "SeedKeysBody",
	reflect.TypeFor[rest.Health]():             "GetHealthOutput",
	reflect.TypeFor[rest.Arena]():              "GetArenaOutput",
	reflect.TypeFor[beacon.Info]():             "BeaconChain",
	reflect.TypeFor[beacon.Metadata]():         "BeaconMetadata",
	reflect.TypeFor[beacon.Round]():            "BeaconRound",
	reflect.TypeFor[match.View]():              "GameView",
	reflect.TypeFor[match.Request]():           "DecisionRequest",
	reflect.TypeFor[match.Response]():          "DecisionResponse",
	reflect.TypeFor[match.Malformed]():         "MalformedAnswer",
	reflect.TypeFor[match.Fault]():             "Fault",
	reflect.TypeFor[match.LateAnswer]():        "LateAnswer",
}

func newRegistry() huma.Registry {
	r := huma.NewMapRegistry(schemaPrefix, func(t reflect.Type, hint string) string {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if name, ok := schemaNames[t]; ok {
			return name
		}
		return huma.DefaultSchemaNamer(t, hint)
	})
	r.RegisterTypeAlias(reflect.TypeFor[match.PublicEvent](), reflect.TypeFor[eventSchema]())
	r.RegisterTypeAlias(reflect.TypeFor[match.Counts](), reflect.TypeFor[countsSchema]())
	r.RegisterTypeAlias(reflect.TypeFor[seed.Seed](), reflect.TypeFor[hexSchema]())
	r.RegisterTypeAlias(reflect.TypeFor[owner.Scope](), reflect.TypeFor[scopeSchema]())
	return r
}

// ref returns a reference to a named schema.
func ref(name string) *huma.Schema { return &huma.Schema{Ref: schemaPrefix + name} }

type (
	// AnyObject is described as a JSON object of any shape.
	AnyObject struct{}

	countsSchema struct{} // in place of match.Counts
	hexSchema    struct{} // in place of seed.Seed
	scopeSchema  struct{} // in place of owner.Scope
)

// Schema implements huma.SchemaProvider.
func (AnyObject) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeObject} }

// Schema implements huma.SchemaProvider.
func (countsSchema) Schema(huma.Registry) *huma.Schema { return ref("ResourceCounts") }

// Schema implements huma.SchemaProvider.
func (hexSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9a-f]{64}$", Description: "32 bytes in lower-case hex."}
}

// Schema implements huma.SchemaProvider.
func (scopeSchema) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, scope := range owner.AllScopes() {
		s.Enum = append(s.Enum, string(scope))
	}
	return s
}

// schemaFile is the content of schemas.yaml.
type schemaFile struct {
	Define map[string]*huma.Schema
	Refine map[string]map[string]yaml.Node // by schema and property
}

// finishSchemas adds the schemas that no response uses, and applies schemas.yaml.
// It also allows additional fields in responses, so that future versions can add
// fields.
func (d *Document) finishSchemas() error {
	var file schemaFile
	if err := decode("schemas.yaml", &file); err != nil {
		return err
	}
	r := d.schemas()
	r.Schema(reflect.TypeFor[match.Response](), true, "")
	maps.Copy(r.Map(), file.Define)
	for name, schema := range r.Map() {
		plain(schema, isRequest(name))
	}
	for name, properties := range file.Refine {
		for property, keywords := range properties {
			if err := refine(r.Map()[name], property, keywords); err != nil {
				return fmt.Errorf("refine the schema %s.%s: %w", name, property, err)
			}
		}
	}
	splitByKind(r, "ActionData", "action")
	splitByKind(r, "Decision", "played")
	splitAborted(r)
	code := r.Map()["Problem"].Properties["code"]
	for _, name := range problem.Codes() {
		code.Enum = append(code.Enum, name)
	}
	return nil
}

// refinement contains the keywords of a property in schemas.yaml.
type refinement struct {
	huma.Schema `yaml:",inline"`
	Nullable    bool `yaml:"nullable"` // huma.Schema's own field cannot be set from YAML
}

// refine adds keywords to the schema of a property, or replaces the schema.
func refine(s *huma.Schema, property string, keywords yaml.Node) error {
	if s == nil || s.Properties[property] == nil {
		return errors.New("no type has this property")
	}
	var given refinement
	if err := keywords.Decode(&given); err != nil {
		return err
	}
	schema := s.Properties[property]
	if given.Ref != "" || given.OneOf != nil {
		*schema = given.Schema
		return nil
	}
	refined := refinement{Schema: *schema, Nullable: schema.Nullable}
	if err := keywords.Decode(&refined); err != nil {
		return err
	}
	*schema = refined.Schema
	schema.Nullable = refined.Nullable
	return nil
}

// isRequest reports whether a schema describes the body of a request, in which an
// unknown field is an error.
func isRequest(name string) bool { return strings.HasSuffix(name, "Input") || name == "ResourceCounts" }

// The function plain() removes two rules that huma adds to every type: that an array
// may be null, and that an object has no other fields. If strict is true, as it is for
// requests, the second rule stays.
func plain(s *huma.Schema, strict bool) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	if s.AdditionalProperties == false && !strict {
		s.AdditionalProperties = nil
	}
	plain(s.Items, strict)
	for _, p := range s.Properties {
		plain(p, strict)
	}
}
