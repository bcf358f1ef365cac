package describe

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hexarena/domain/match"
)

// eventSchema describes match.PublicEvent in the document, with a separate
// schema for each kind of event.
type eventSchema struct{}

// Schema implements huma.SchemaProvider.
func (eventSchema) Schema(r huma.Registry) *huma.Schema {
	if _, ok := r.Map()["MatchEvent"]; ok {
		return ref("MatchEvent")
	}
	union := &huma.Schema{
		Description:   "An event of a match. The data is left out while the match is running.",
		Discriminator: &huma.Discriminator{PropertyName: "kind", Mapping: map[string]string{}},
	}
	r.Map()["MatchEvent"] = union
	for _, k := range match.PublicKinds {
		name := strings.ToUpper(k.Kind[:1]) + k.Kind[1:] + "Event"
		s := &huma.Schema{
			Type: huma.TypeObject, Description: k.About, Required: []string{"seq", "at", "kind"},
			Properties: map[string]*huma.Schema{
				"seq":  {Type: huma.TypeInteger, Minimum: new(1.0), Description: "The event's number in the match: 1, 2, 3, …"},
				"at":   {Type: huma.TypeString, Format: "date-time"},
				"kind": {Type: huma.TypeString, Enum: []any{k.Kind}},
				"data": r.Schema(reflect.TypeOf(k.Data), true, ""),
			},
		}
		if k.Seat != match.NoSeat {
			s.Properties["seat"] = &huma.Schema{Type: huma.TypeInteger, Minimum: new(0.0), Maximum: new(3.0)}
		}
		if k.Seat == match.OneSeat {
			s.Required = append(s.Required, "seat")
		}
		r.Map()[name] = s
		union.OneOf = append(union.OneOf, ref(name))
		union.Discriminator.Mapping[k.Kind] = schemaPrefix + name
	}
	return ref("MatchEvent")
}
