package botwire

import "encoding/binary"

// These constants are the minimum costs of a read, a frame and a message, in bytes of
// the budget. Tiny frames are cheap for the peer but cost the arena processing time, so
// a flood of tiny frames must exhaust the budget early. On the other hand, a full-size
// message in fragments of one byte must stay within the budget.
const (
	readCost    = 12
	frameCost   = 12
	messageCost = 64      // also the cost of a pong
	emptyCost   = 1 << 10 // cost of an empty data frame
)

// verdict is the reason for closing a connection.
type verdict int32

const (
	vFine      verdict = iota
	vOversized         // the message has more than FrameLimit bytes
	vProtocol          // RFC 6455 does not allow a server to send this frame
	vFlood             // over the budget
)

// These are the frame opcodes that the scanner distinguishes.
const (
	opContinuation = 0x0
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA
)

// toll is the cost of one piece of the byte stream.
type toll struct {
	cost  int // bytes, with the minimum costs applied
	pings int // number of pings, each of which the arena must answer
}

// scanner parses the frame headers of a peer's byte stream, in pieces of any size. It
// rejects two things that the WebSocket library would accept: masked frames, and
// messages whose headers announce a size over the limit. It does not store the payload.
type scanner struct {
	head    [10]byte
	have    int    // bytes in head
	payload uint64 // remaining bytes of the frame's payload
	message uint64 // payload bytes announced so far for the open message
}

// feed scans the next piece of the stream. The result pass is the number of bytes of p
// that the caller may forward. If it is less than len(p), v is the reason to reject the
// frame that follows these bytes.
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

// headLen returns the length of the current frame's header, or 2 until its second byte
// has arrived. It ignores masks, because the method judge() has already rejected masked
// frames.
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

// The method announced() returns the payload length that the header contains. The
// header must be complete.
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

// judge returns the verdict on the header bytes that have arrived so far. It rejects an
// invalid header as early as possible.
func (s *scanner) judge() verdict {
	if s.have < 2 {
		return vFine
	}
	op, reserved, masked := s.opcode(), s.head[0]&0x70 != 0, s.head[1]&0x80 != 0
	known := op <= opBinary || op >= opClose && op <= opPong
	badControl := s.isControl() && (!s.isFinal() || s.head[1]&0x7F > 125)
	badLength := s.headLen() == 10 && s.have > 2 && s.head[2]&0x80 != 0 // RFC 6455, 5.2
	switch {
	case reserved || masked || !known || badControl || badLength:
		return vProtocol
	case s.isControl() || s.have < s.headLen():
		return vFine
	case s.before()+s.announced() > FrameLimit:
		return vOversized
	}
	return vFine
}

// The method before() returns the number of payload bytes in earlier frames of the same
// message.
func (s *scanner) before() uint64 {
	if s.opcode() == opContinuation {
		return s.message
	}
	return 0
}

// open starts a frame whose header is complete, and adds its cost to t.
func (s *scanner) open(t *toll) {
	length := s.announced()
	size := s.have + int(length)
	switch {
	case s.opcode() == opClose:
	case s.opcode() == opPing:
		t.pings++
	case s.opcode() == opPong:
		t.cost += max(0, messageCost-size)
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
