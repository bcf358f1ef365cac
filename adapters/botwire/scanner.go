package botwire

import "encoding/binary"

// What a read, a frame and a message cost at least, in bytes of the budget, so
// that a flood of tiny ones is cut before it costs us what it costs the peer
// nothing. A message in fragments of one byte each still fits into the budget.
const (
	readCost    = 12
	frameCost   = 12
	messageCost = 64
	emptyCost   = 1 << 10 // of a data frame that carries nothing
)

// verdict is why a line is cut.
type verdict int32

const (
	vFine      verdict = iota
	vOversized         // a message of more than FrameLimit bytes
	vProtocol          // a frame that RFC 6455 forbids a server
	vFlood             // over the budget
)

// Frame opcodes that the scanner tells apart.
const (
	opContinuation = 0x0
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA
)

// toll is what a stretch of the stream costs its sender.
type toll struct {
	cost  int // bytes, or more for what is tiny
	pings int // pings and pongs: no pong was asked for
}

// scanner follows the frames of a server's byte stream, whatever pieces it
// comes in, and judges what the WebSocket library lets pass: masked frames,
// and the size of a message as soon as it is announced. It keeps no payload.
type scanner struct {
	head    [10]byte
	have    int    // bytes of head that are there
	payload uint64 // bytes of the frame's payload still to come
	message uint64 // payload bytes announced so far for the open message
}

// feed reads on. Of p, the first pass bytes may be handed on; if they are not
// all, v says what is wrong with the frame that follows them.
func (s *scanner) feed(p []byte) (pass int, t toll, v verdict) {
	t.cost = len(p)
	for at := 0; at < len(p); {
		if s.payload > 0 {
			skip := min(s.payload, uint64(len(p)-at))
			s.payload -= skip
			at += int(skip)
			continue
		}
		if s.have == 0 {
			pass = at
		}
		s.head[s.have] = p[at]
		s.have++
		at++
		if v := s.judge(); v != vFine {
			return pass, t, v
		}
		if s.have == s.headLen() {
			s.open(&t)
		}
	}
	return len(p), t, vFine
}

// headLen returns how long the header is, as far as one can tell; a masked one
// is refused before that matters.
func (s *scanner) headLen() int {
	switch {
	case s.have < 2:
		return 2
	case s.head[1]&0x7F == 126:
		return 4
	case s.head[1]&0x7F == 127:
		return 10
	default:
		return 2
	}
}

// announced returns the payload's length, once the header is whole.
func (s *scanner) announced() uint64 {
	switch s.headLen() {
	case 4:
		return uint64(binary.BigEndian.Uint16(s.head[2:]))
	case 10:
		return binary.BigEndian.Uint64(s.head[2:])
	default:
		return uint64(s.head[1] & 0x7F)
	}
}

func (s *scanner) opcode() byte    { return s.head[0] & 0x0F }
func (s *scanner) isControl() bool { return s.head[0]&0x08 != 0 }
func (s *scanner) isFinal() bool   { return s.head[0]&0x80 != 0 }

// judge refuses a header, as soon as it can be told.
func (s *scanner) judge() verdict {
	if s.have < 2 {
		return vFine
	}
	op, reserved, masked := s.opcode(), s.head[0]&0x70 != 0, s.head[1]&0x80 != 0
	known := op <= opBinary || op >= opClose && op <= opPong
	badControl := s.isControl() && (!s.isFinal() || s.head[1]&0x7F > 125)
	switch {
	case reserved || masked || !known || badControl:
		return vProtocol
	case s.isControl() || s.have < s.headLen():
		return vFine
	case s.before()+s.announced() > FrameLimit || s.announced() > FrameLimit:
		return vOversized
	}
	return vFine
}

// before returns the payload bytes of the message that came before this frame.
func (s *scanner) before() uint64 {
	if s.opcode() == opContinuation {
		return s.message
	}
	return 0
}

// open takes note of a frame whose header is whole.
func (s *scanner) open(t *toll) {
	length := s.announced()
	size := s.have + int(length)
	switch {
	case s.isControl():
		t.pings += b2i(s.opcode() != opClose)
	case length == 0:
		t.cost += emptyCost
	case s.isFinal() && s.before() == 0:
		t.cost += max(0, messageCost-size)
	default:
		t.cost += max(0, frameCost-size)
	}
	if !s.isControl() {
		s.message = s.before() + length
	}
	s.payload, s.have = length, 0
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
