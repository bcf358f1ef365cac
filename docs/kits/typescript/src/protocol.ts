// The types of requests and actions (docs/protocol.md).

export type Resource = "brick" | "lumber" | "wool" | "grain" | "ore";
export type DevCard = "knight" | "victory_point" | "roadworks" | "windfall" | "embargo";
export type Kind = "setup" | "turn" | "discard" | "bandit" | "trade";
/** Counts of cards by resource. A missing resource counts as zero. */
export type Counts = Partial<Record<Resource, number>>;

export type Board = {
  hexes: { id: number; resource: Resource | "desert"; token: number | null }[];
  ports: { vertices: [number, number]; rate: number; resource?: Resource }[]; // no resource: the port takes any
  bandit: number;
};
export type Town = { vertex: number; seat: number; city: boolean };
export type OpenTrade = { from: number; give: Counts; get: Counts; to?: number; talk?: string };

/** The game as one seat sees it. */
export type View = {
  seat: number;
  seatCount: number;
  phase: "setup" | "main";
  turn: number;
  dice: [number, number] | null;
  roads: { edge: number; seat: number }[];
  towns: Town[];
  handCounts: number[];
  devCounts: number[];
  knightsPlayed: number[];
  scores: number[];
  awards: { largestArmy: number | null; longestRoad: number | null };
  deckRemaining: number;
  openTrade: OpenTrade | null;
  talkLog: { seat: number; message: string; turn: number }[];
  board: Board;
  hand: Counts;
  devCards: DevCard[];
  devBoughtThisTurn: DevCard[];
  myScore: number;
};

export type Request = {
  id: number;
  matchId: string;
  mode: "standard" | "parley";
  seat: number;
  kind: Kind;
  deadlineMs: number;
  bankMs?: number; // absent if the match has no time bank
  view: View;
};

export type Robbery = { hex: number; victim?: number };
export type SetupAction = { settlement: number; road: number };
export type DiscardAction = { cards: Counts };
export type BanditAction = Robbery & { talk?: string };
export type TradeAction = { accept: boolean; talk?: string };
export type OfferAction = { type: "offer_trade"; give: Counts; get: Counts; to?: number; talk?: string };
export type TurnAction =
  | { type: "build_road"; edge: number }
  | { type: "build_settlement" | "build_city"; vertex: number }
  | { type: "buy_dev" }
  | ({ type: "play_knight" } & Robbery)
  | { type: "play_roadworks"; edges: number[] }
  | { type: "play_windfall"; take: Counts }
  | { type: "play_embargo"; resource: Resource }
  | { type: "bank_trade"; give: Resource; get: Resource }
  | OfferAction
  | { type: "end_turn"; talk?: string };
export type Action = SetupAction | DiscardAction | BanditAction | TradeAction | TurnAction;
