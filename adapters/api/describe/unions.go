package describe

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// actionSchemas maps each kind of decision to the name of its action's schema.
var actionSchemas = map[string]string{
	"setup": "SetupAction", "turn": "TurnAction", "discard": "DiscardAction", "bandit": "BanditAction", "trade": "TradeResponse",
}

// splitByKind replaces an object schema by a union of one schema for each kind of
// decision. In each new schema, the property has the schema of that kind's action. The
// names of the new schemas begin with the kind, such as TurnActionData.
func splitByKind(r huma.Registry, name, property string) {
	whole := r.Map()[name]
	union := &huma.Schema{
		Description:   whole.Description,
		Discriminator: &huma.Discriminator{PropertyName: "kind", Mapping: map[string]string{}},
	}
	for _, kind := range slices.Sorted(maps.Keys(actionSchemas)) {
		s := *whole
		s.Properties = maps.Clone(whole.Properties)
		s.Properties["kind"] = &huma.Schema{Type: huma.TypeString, Enum: []any{kind}}
		s.Properties[property] = ref(actionSchemas[kind])
		s.Properties[property].Description = whole.Properties[property].Description
		part := strings.ToUpper(kind[:1]) + kind[1:] + name
		r.Map()[part] = &s
		union.OneOf = append(union.OneOf, ref(part))
		union.Discriminator.Mapping[kind] = schemaPrefix + part
	}
	r.Map()[name] = union
}

// In a bot's history, splitAborted gives the points of aborted matches a separate
// schema. A point of a completed match has no reason. A point of an aborted match has
// no placement and no rating.
func splitAborted(r huma.Registry) {
	const reason = "reason"
	result := []string{"placement", "rating", "mu", "sigma"}
	completed := r.Map()["HistoryPoint"]
	aborted := *completed
	aborted.Description = "The history point of an aborted match."
	aborted.Properties = maps.Clone(completed.Properties)
	aborted.Required = append(slices.Clone(completed.Required), reason)
	for _, name := range result {
		delete(aborted.Properties, name)
	}
	completed.Description = "The history point of a completed match."
	delete(completed.Properties, reason)
	completed.Required = append(completed.Required, result...)
	r.Map()["AbortedPoint"] = &aborted
	r.Map()["BotHistory"].Properties["points"].Items = &huma.Schema{OneOf: []*huma.Schema{ref("HistoryPoint"), ref("AbortedPoint")}}
}
