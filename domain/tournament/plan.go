package tournament

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"hexarena/domain/ladder"
	"hexarena/domain/seed"
)

// Plan determines every match of a series. The same plan always has the same matches.
// It consists of blocks. All matches of a block share one server seed, so they have the
// same board, dice and deck. Each match of a block rotates the seats of the bots, so
// that the luck of board and seat cancels.
type Plan struct {
	Bots   int      // the number of bots, 3 or 4; all play in each match
	Blocks int      // unused if Seeds is set
	Seed   string   // any text, from which the seed of each block is derived
	Seeds  []string // one text for each block, instead of Seed; 64 lower-case hex digits are a server seed
	Rotate bool     // whether a block has one match for each rotation of the seats, or only one match
}

// Match is one match of a plan.
type Match struct {
	Number   int // in the plan, from 0
	Block    int
	Rotation int
	ID       string
	Server   seed.Seed
	Table    []int // bots in ladder order; the seed shuffles this order into the seats
	Seats    []int // bots by seat
}

// BlockSize returns the number of matches in a block.
func (p Plan) BlockSize() int {
	if p.Rotate {
		return p.Bots
	}
	return 1
}

// Matches returns the number of matches in the plan.
func (p Plan) Matches() int {
	if p.Seeds != nil {
		return len(p.Seeds) * p.BlockSize()
	}
	return p.Blocks * p.BlockSize()
}

// Match returns the match with a number. Bot i gets seat i in the first match of a
// block, and moves on by one seat in each further match.
func (p Plan) Match(number int) Match {
	m := Match{Number: number, Block: number / p.BlockSize(), Rotation: number % p.BlockSize()}
	text, index := p.Seed, m.Block
	if p.Seeds != nil {
		text, index = p.Seeds[m.Block], 0
	}
	m.Server = server(text, index, p.Seeds != nil)
	m.ID = ladder.NameUUID(fmt.Sprintf("hexarena:practice:%s:%d:%d", text, index, m.Rotation))
	m.Seats, m.Table = make([]int, p.Bots), make([]int, p.Bots)
	for bot := range p.Bots {
		m.Seats[(bot+m.Rotation)%p.Bots] = bot
	}
	joint := seed.Joint(m.Server, make([]string, p.Bots))
	for seat, at := range joint.Seating(p.Bots) {
		m.Table[at] = m.Seats[seat]
	}
	return m
}

// server returns the server seed of a block. A line of a file of seeds may be the server
// seed itself, as records show it, so that a person can repeat a single board.
func server(text string, index int, literal bool) seed.Seed {
	if s, err := seed.Parse(text); literal && err == nil {
		return s
	}
	return sha256.Sum256([]byte("hexarena/practice/1\x00" + text + "\x00" + strconv.Itoa(index)))
}

// BotSeed returns the seed of a house bot's random choices at a seat of the match.
func (m Match) BotSeed(seat int) uint64 {
	sum := sha256.Sum256([]byte("hexarena/practice/bot/1\x00" + m.ID + "\x00" + m.Server.String() + "\x00" + strconv.Itoa(seat)))
	return binary.BigEndian.Uint64(sum[:])
}
