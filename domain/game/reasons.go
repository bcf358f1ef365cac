package game

import "fmt"

// Illegal is the error for an answer that broke a rule. Such an answer costs
// the seat a strike.
type Illegal struct {
	Reason  string // a stable snake_case code, listed in docs/protocol.md
	Message string // a sentence that helps the owner
}

func (i *Illegal) Error() string { return i.Reason + ": " + i.Message }

func illegal(reason, format string, args ...any) *Illegal {
	return &Illegal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Reasons that a decoder can find while it reads the Action.
const (
	ReasonUnknownType     = "unknown_type"     // the action's type does not exist
	ReasonUnknownResource = "unknown_resource" // a resource's name is not one of the five
	ReasonOutOfRange      = "out_of_range"     // a vertex, edge, hex or seat does not exist, or a count is too large
	ReasonNegativeCount   = "negative_count"   // a count of cards is below zero
	ReasonEdgeCount       = "edge_count"       // play_roadworks names neither one nor two edges
	ReasonTalkTooLong     = "talk_too_long"    // the talk has more than 240 characters
	ReasonTalkTwice       = "talk_twice"       // the seat talks a second time in the same turn
)

// ReasonNotOwed means that the seat owes no decision of that kind. No frame
// from a bot can cause it, because the kind of the request determines the shape
// of the answer.
const ReasonNotOwed = "not_owed"

// ReasonNotEnoughCards means that the hand does not have the cards that the
// action costs, gives, discards or accepts.
const ReasonNotEnoughCards = "not_enough_cards"

// Reasons for placing and building.
const (
	ReasonVertexTaken            = "vertex_taken"             // the vertex has a town
	ReasonDistanceRule           = "distance_rule"            // a town stands next to the vertex
	ReasonRoadNotAtSettlement    = "road_not_at_settlement"   // setup: the road does not touch the new settlement
	ReasonSettlementNotConnected = "settlement_not_connected" // no road of the seat touches the vertex
	ReasonNoSettlementsLeft      = "no_settlements_left"      // all five are on the board
	ReasonNotYourSettlement      = "not_your_settlement"      // a city must replace a settlement of the same seat
	ReasonNoCitiesLeft           = "no_cities_left"           // all four are on the board
	ReasonEdgeTaken              = "edge_taken"               // a road lies on the edge
	ReasonRoadBlocked            = "road_blocked"             // only a rival's town connects the edge to the seat's roads
	ReasonRoadNotConnected       = "road_not_connected"       // no road or town of the seat touches the edge
	ReasonNoRoadsLeft            = "no_roads_left"            // fifteen lie on the board
)

// Reasons for development cards.
const (
	ReasonDeckEmpty         = "deck_empty"           // no card is left to buy
	ReasonNoDevCard         = "no_dev_card"          // the seat does not hold the card
	ReasonDevBoughtThisTurn = "dev_bought_this_turn" // the seat bought the card this turn
	ReasonDevAlreadyPlayed  = "dev_already_played"   // the seat has already played a card this turn
	ReasonDuplicateEdge     = "duplicate_edge"       // play_roadworks names one edge twice
	ReasonWindfallCount     = "windfall_count"       // play_windfall does not take exactly two cards
)

// Reasons for moving the bandit.
const (
	ReasonBanditMustMove   = "bandit_must_move"   // the bandit is already on that hex
	ReasonVictimSelf       = "victim_self"        // the victim is the seat itself
	ReasonVictimNotPlaying = "victim_not_playing" // nobody plays at the victim's seat
	ReasonVictimNotOnHex   = "victim_not_on_hex"  // the victim has no town on the hex
)

// Reasons for discarding and trading.
const (
	ReasonDiscardCount  = "discard_count"   // the discard is not half the hand, rounded down
	ReasonSameResource  = "same_resource"   // bank_trade gives and takes the same resource
	ReasonTooManyOffers = "too_many_offers" // the seat makes a sixth offer in one turn
	ReasonEmptySide     = "empty_side"      // one side of the offer has no cards
	ReasonOfferToSelf   = "offer_to_self"   // the offer is for the seat that makes it
	ReasonToNotPlaying  = "to_not_playing"  // nobody plays at the seat that the offer is for
)
