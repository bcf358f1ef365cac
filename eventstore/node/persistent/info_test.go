package persistent

import (
	"testing"
	"time"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/stretchr/testify/require"
)

func TestStatisticsOfResponseTimes(t *testing.T) {
	m := measure{}
	require.Empty(t, m.observed())
	for i := range 101 {
		m.took(time.Duration(100-i) * 10 * time.Millisecond)
	}
	got := map[string]int64{}
	for _, one := range m.observed() {
		got[one.GetKey()] = one.GetValue()
	}
	require.Equal(t, map[string]int64{
		"Highest": 1000, "Mean": 500, "Median": 500, "Fastest": 1,
		"Quintile 1": 1, "Quintile 2": 200, "Quintile 3": 400, "Quintile 4": 600, "Quintile 5": 800,
		"90%": 900, "95%": 950, "99%": 990, "99.5%": 990, "99.9%": 990,
	}, got)
}

func TestStatisticsIncludeNacks(t *testing.T) {
	f := open(t)
	f.append("s")
	f.append("s")
	g := f.group("s", func(c *groupConfig) { c.ExtraStatistics = true })
	s := f.join("s", 1)
	s.ack(s.next())
	nacked := s.next()
	s.requests <- &api.ReadReq{Content: &api.ReadReq_Nack_{Nack: &api.ReadReq_Nack{
		Ids: []*shared.UUID{nacked.GetEvent().GetId()}, Action: api.ReadReq_Nack_Skip,
	}}}
	f.until(g, func() bool {
		for c := range g.consumers {
			return len(c.total.taken) == 2
		}
		return false
	})
}
