// A bot for the arena. Its author has read only the public description of the
// arena's interface. The bot needs Node 18 and no packages. It serves its own
// WebSocket, signs in by email, registers itself with a signed request, and
// plays. Then it checks the replay of each match for its own mistakes.
//
//   node bot.mjs --base http://127.0.0.1:8080 --mail DIR --email me@example.org
//     [--name Stranger] [--matches 1] [--timeout 120]
//
// For each step, the bot prints one line of JSON to stdout. The exit status 0
// means that all matches were rated and that their replays show no mistakes.

import http from 'node:http'
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

const opts = { name: 'Stranger', matches: '1', timeout: '120' }
for (let i = 2; i < process.argv.length; i += 2) opts[process.argv[i].replace(/^--/, '')] = process.argv[i + 1]
let doing = 'starting'

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0)
const most = (list, worth) => [...list].sort((a, b) => worth(b) - worth(a))[0]
const say = (step, fields = {}) => console.log(JSON.stringify({ step, ...fields }))
const fail = (step, why) => {
  say(step, { why })
  process.exit(1)
}

// ---- The board: numbering and adjacency, from the lattice ----

const RESOURCES = ['brick', 'lumber', 'wool', 'grain', 'ore']
const COST = {
  road: { brick: 1, lumber: 1 },
  settlement: { brick: 1, lumber: 1, wool: 1, grain: 1 },
  city: { ore: 3, grain: 2 },
  dev: { ore: 1, wool: 1, grain: 1 },
}

const board = (() => {
  const corners = [[0, -2], [1, -1], [1, 1], [0, 2], [-1, 1], [-1, -1]]
  const outlines = [3, 4, 5, 4, 3].flatMap((width, r) => Array.from({ length: width }, (_, c) =>
    corners.map(([dx, dy]) => [2 * c + [2, 1, 0, 1, 2][r] + dx, 3 * r + dy])))
  const points = [...new Map(outlines.flat().map((p) => [String(p), p])).values()]
  const number = new Map(points.sort((a, b) => a[1] - b[1] || a[0] - b[0]).map((p, v) => [String(p), v]))
  const hexes = outlines.map((outline) => outline.map((p) => number.get(String(p))))
  const sides = hexes.flatMap((ring) => ring.map((v, i) => [v, ring[(i + 1) % 6]].sort((a, b) => a - b)))
  const edges = [...new Map(sides.map((pair) => [String(pair), pair])).values()]
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
  const vertices = points.map((_, v) => {
    const own = [...edges.keys()].filter((e) => edges[e].includes(v))
    return { edges: own, next: own.map((e) => sum(edges[e]) - v), hexes: [...hexes.keys()].filter((h) => hexes[h].includes(v)) }
  })
  return { hexes, edges, vertices }
})()

// ---- One view and its legal actions ----

class Position {
  constructor(view) {
    this.view = view
    this.towns = new Map(view.towns.map((t) => [t.vertex, t]))
    this.roads = new Map(view.roads.map((r) => [r.edge, r.seat]))
    this.hexes = [...view.board.hexes].sort((a, b) => a.id - b.id)
    this.hand = Object.fromEntries(RESOURCES.map((r) => [r, view.hand[r] ?? 0]))
    this.total = sum(Object.values(this.hand))
    this.own = view.towns.filter((t) => t.seat === view.seat)
    this.settlements = this.own.filter((t) => !t.city).map((t) => t.vertex)
    this.cities = this.own.length - this.settlements.length
    this.roadsLeft = 15 - view.roads.filter((r) => r.seat === view.seat).length
    this.opponents = [...Array(view.seatCount).keys()].filter((s) => s !== view.seat)
  }

  pips = (h) => (this.hexes[h].token ? 6 - Math.abs(7 - this.hexes[h].token) : 0)
  seatAt = (v) => this.towns.get(v)?.seat
  ours = (e) => this.roads.get(e) === this.view.seat
  blocked = (v) => this.towns.has(v) && this.seatAt(v) !== this.view.seat
  roomy = (v) => ![v, ...board.vertices[v].next].some((w) => this.towns.has(w))

  // Our network reaches v if we have a town there, or a road that no opponent's
  // town cuts off there. planned contains edges to build first.
  reaches(v, planned = []) {
    return !this.blocked(v) &&
      (this.towns.has(v) || board.vertices[v].edges.some((e) => this.ours(e) || planned.includes(e)))
  }

  spots() { // where a settlement may stand now
    if (this.settlements.length >= 5) return []
    return [...board.vertices.keys()].filter((v) => this.roomy(v) && board.vertices[v].edges.some(this.ours))
  }

  worth = (v) => { // the value of a settlement there: yield, variety, a port
    const resource = (h) => this.hexes[h].resource
    const has = new Set(['desert', ...this.own.flatMap((t) => board.vertices[t.vertex].hexes.map(resource))])
    const near = board.vertices[v].hexes
    const fresh = new Set(near.map(resource).filter((r) => !has.has(r)))
    return sum(near.map(this.pips)) + 1.2 * fresh.size + (this.view.board.ports.some((p) => p.vertices.includes(v)) ? 1 : 0)
  }

  // Returns the roads to the most promising spot within reach, in order. The list is
  // empty if there is no such spot.
  route() {
    let frontier = [...board.vertices.keys()].filter((v) => this.reaches(v)).map((v) => ({ v, roads: [] }))
    const seen = new Set(frontier.map((f) => f.v))
    const found = []
    while (frontier.length) {
      found.push(...frontier.filter(({ v, roads }) => roads.length && this.roomy(v)))
      frontier = frontier.flatMap(({ v, roads }) => {
        if (this.blocked(v) || roads.length >= Math.min(this.roadsLeft, 4)) return []
        const steps = board.vertices[v].edges.map((e) => ({ v: sum(board.edges[e]) - v, roads: [...roads, e] }))
        return steps.filter((s) => !this.roads.has(s.roads.at(-1)) && !seen.has(s.v) && seen.add(s.v))
      })
    }
    return most(found, ({ v, roads }) => this.worth(v) - 2.5 * roads.length)?.roads ?? []
  }

  freeRoads(count) { // legal edges, at most count; the edges of the route come first
    const planned = []
    for (const e of [...this.route(), ...board.edges.keys()]) {
      const legal = !this.roads.has(e) && !planned.includes(e) && board.edges[e].some((v) => this.reaches(v, planned))
      if (legal && planned.length < Math.min(count, this.roadsLeft)) planned.push(e)
    }
    return planned
  }

  rate(resource) {
    const ports = this.view.board.ports.filter((p) => p.vertices.some((v) => this.seatAt(v) === this.view.seat))
    return Math.min(4, ...ports.filter((p) => !p.resource || p.resource === resource).map((p) => p.rate))
  }

  missing(cost, hand = this.hand) {
    return RESOURCES.flatMap((r) => Array(Math.max(0, (cost[r] ?? 0) - hand[r])).fill(r))
  }

  // Returns the goal to save cards for. It is the goal that needs the fewest further
  // cards, weighted by its use.
  goal(hand = this.hand) {
    const spots = this.spots()
    const goals = []
    if (this.settlements.length && this.cities < 4) goals.push({ kind: 'city', weight: 2.3 })
    if (spots.length) goals.push({ kind: 'settlement', weight: 2.6 })
    else if (this.freeRoads(1).length) goals.push({ kind: 'road', weight: this.route().length && this.settlements.length < 5 ? 1.4 : -0.5 })
    if (this.view.deckRemaining > 0) goals.push({ kind: 'dev', weight: 0.6 })
    const rated = goals.map(({ kind, weight }) => {
      const missing = this.missing(COST[kind], hand)
      return { kind, cost: COST[kind], missing, score: weight - missing.length }
    })
    return most(rated, (g) => g.score) ?? { kind: 'none', cost: {}, missing: [], score: -9 }
  }

  // Returns the hex where the bandit hurts the leaders and not us, and the seat to rob.
  bandit() {
    const harm = (h) => sum(board.hexes[h].filter((v) => this.towns.has(v)).map((v) => {
      const { seat, city } = this.towns.get(v)
      const loss = (city ? 2 : 1) * (this.pips(h) + 1)
      return seat === this.view.seat ? -3 * loss : loss * (1 + this.view.scores[seat] / 10)
    }))
    const hex = most([...board.hexes.keys()].filter((h) => h !== this.view.board.bandit), harm)
    const cards = this.view.handCounts
    const there = this.opponents.filter((s) => cards[s] > 0 && board.hexes[hex].some((v) => this.seatAt(v) === s))
    return there.length ? { hex, victim: most(there, (s) => cards[s]) } : { hex }
  }
}

// ---- Decisions ----

// Facts that the view does not show, kept per match and forgotten when the turn changes.
const memos = new Map()

function memoOf({ matchId, view }) {
  const memo = memos.get(matchId) ?? { turn: -1 }
  memos.set(matchId, memo)
  if (memo.turn !== view.turn) Object.assign(memo, { turn: view.turn, devPlayed: false, offers: 0, talked: false })
  return memo
}

function talk(memo, message) { // once a turn
  if (memo.talked) return {}
  memo.talked = true
  return { talk: message }
}

function answerTo(request) {
  const at = new Position(request.view)
  const memo = memoOf(request)
  switch (request.kind) {
    case 'setup': return setup(at)
    case 'turn': return turn(at, memo)
    case 'discard': return { cards: discard(at) }
    case 'bandit': return { ...at.bandit(), ...talk(memo, 'Nothing personal.') }
    case 'trade': return respond(at, memo)
  }
  throw new Error(`unknown decision ${request.kind}`)
}

function setup(at) {
  const settlement = most([...board.vertices.keys()].filter(at.roomy), at.worth)
  const beyond = (e) => { // the best spot that the road leads to
    const far = board.vertices[sum(board.edges[e]) - settlement].next
    return Math.max(0, ...far.filter((v) => v !== settlement && at.roomy(v)).map(at.worth))
  }
  return { settlement, road: most(board.vertices[settlement].edges.filter((e) => !at.roads.has(e)), beyond) }
}

function turn(at, memo) {
  const dev = memo.devPlayed ? null : playDev(at)
  if (dev) {
    memo.devPlayed = true
    return dev
  }
  const goal = at.goal()
  const crowded = at.total > 7 // too many cards to keep if a seven is rolled
  const can = (kind) => at.missing(COST[kind]).length === 0
  const spot = most(at.spots(), at.worth)
  const [edge] = at.freeRoads(1)
  const wants = (kind) => can(kind) && (goal.kind === kind || (crowded && memo.offers > 0))
  if (can('city') && at.settlements.length && at.cities < 4) return { type: 'build_city', vertex: most(at.settlements, at.worth) }
  if (can('settlement') && spot !== undefined) return { type: 'build_settlement', vertex: spot }
  if (wants('dev') && at.view.deckRemaining > 0) return { type: 'buy_dev' }
  if (wants('road') && edge !== undefined) return { type: 'build_road', edge }
  const trade = bankTrade(at, goal, crowded)
  if (trade) return trade
  const offer = memo.offers < (crowded ? 2 : 1) && makeOffer(at, goal, memo)
  if (offer) {
    memo.offers++
    return offer
  }
  return { type: 'end_turn', ...talk(memo, goal.missing.length ? `Still short of ${goal.missing[0]}.` : 'Your move.') }
}

function playDev(at) {
  const { devCards, handCounts, board: { bandit } } = at.view
  const has = (card) => devCards.includes(card)
  const { missing } = at.goal()
  const knight = () => ({ type: 'play_knight', ...at.bandit() })
  if (has('knight') && board.hexes[bandit].some((v) => at.seatAt(v) === at.view.seat)) return knight()
  if (has('windfall') && missing.length) {
    const [a, b] = [...missing, missing[0]]
    return { type: 'play_windfall', take: a === b ? { [a]: 2 } : { [a]: 1, [b]: 1 } }
  }
  if (has('embargo') && sum(at.opponents.map((s) => handCounts[s])) >= 6) {
    return { type: 'play_embargo', resource: missing[0] ?? 'ore' }
  }
  const edges = has('roadworks') ? at.freeRoads(2) : []
  if (edges.length) return { type: 'play_roadworks', edges }
  return has('knight') ? knight() : null
}

const spare = (at, goal, r) => Math.max(0, at.hand[r] - (goal.cost[r] ?? 0))

function bankTrade(at, goal, crowded) {
  const times = (r) => Math.floor(spare(at, goal, r) / at.rate(r))
  const reach = sum(RESOURCES.map(times))
  if (!goal.missing.length || !reach || (reach < goal.missing.length && !crowded)) return null
  return { type: 'bank_trade', give: most(RESOURCES, times), get: goal.missing[0] }
}

function makeOffer(at, goal, memo) {
  const give = most(RESOURCES, (r) => spare(at, goal, r))
  const [get] = goal.missing
  const partners = at.opponents.filter((s) => at.view.handCounts[s] > 0 && at.view.scores[s] < 8)
  if (!get || !spare(at, goal, give) || !partners.length) return null
  const offer = { type: 'offer_trade', give: { [give]: 1 }, get: { [get]: 1 } }
  if (!memo.offers) return { ...offer, ...talk(memo, `One ${give} for one ${get}, anyone?`) }
  // The second offer of a turn is better than the first, and goes to only one seat.
  return { ...offer, give: { [give]: Math.min(2, spare(at, goal, give)) }, to: most(partners, (s) => at.view.handCounts[s]) }
}

function respond(at, memo) {
  const { from, give, get } = at.view.openTrade
  const after = Object.fromEntries(RESOURCES.map((r) => [r, at.hand[r] - (get[r] ?? 0) + (give[r] ?? 0)]))
  const holds = RESOURCES.every((r) => at.hand[r] >= (get[r] ?? 0))
  const gain = at.goal(after).score - at.goal().score + 0.3 * (sum(Object.values(after)) - at.total)
  return holds && gain > 0 && at.view.scores[from] < 8 ? { accept: true, ...talk(memo, 'Deal.') } : { accept: false }
}

function discard(at) {
  const { cost } = at.goal()
  const left = { ...at.hand }
  const cards = {}
  for (let n = Math.floor(at.total / 2); n > 0; n--) {
    const drop = most(RESOURCES, (r) => (left[r] > 0 ? left[r] - (cost[r] ?? 0) : -99))
    left[drop]--
    cards[drop] = (cards[drop] ?? 0) + 1
  }
  return cards
}

// ---- WebSocket, the server's side (RFC 6455) ----

const refusal = (code, why) => Object.assign(new Error(why), { close: code })

function frame(opcode, payload) {
  const n = payload.length
  const head = Buffer.alloc(n < 126 ? 2 : n < 65536 ? 4 : 10)
  head.writeUInt16BE((0x80 | opcode) << 8 | (n < 126 ? n : n < 65536 ? 126 : 127))
  if (head.length === 4) head.writeUInt16BE(n, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(n), 2)
  return Buffer.concat([head, payload])
}

function takeFrame(data) { // the first frame of data, or null while it is incomplete
  if (data.length < 2) return null
  const fin = data[0] >= 0x80
  const opcode = data[0] & 0x0f
  const short = data[1] & 0x7f
  if (data[0] & 0x70 || ![0, 1, 2, 8, 9, 10].includes(opcode)) throw refusal(1002, 'reserved bits or an unknown opcode')
  if (data[1] < 0x80) throw refusal(1002, 'a client frame without a mask')
  if (opcode >= 8 && (!fin || short > 125)) throw refusal(1002, 'a control frame too long or in parts')
  const start = short < 126 ? 2 : short === 126 ? 4 : 10
  if (data.length < start) return null
  const length = short < 126 ? short : short === 126 ? data.readUInt16BE(2) : Number(data.readBigUInt64BE(2))
  if (length > 1 << 20) throw refusal(1009, 'a frame over 1 MiB')
  const end = start + 4 + length
  if (data.length < end) return null
  const payload = Buffer.from(data.subarray(start + 4, end))
  for (let i = 0; i < length; i++) payload[i] ^= data[start + (i & 3)]
  return { fin, opcode, payload, rest: data.subarray(end) }
}

function speak(socket, head, onText, onClose) {
  let pending = Buffer.alloc(0)
  let parts = null // the parts of a text message in several frames
  let closing = false
  const close = (payload) => {
    closing = true
    socket.end(frame(8, payload))
    setTimeout(() => socket.destroy(), 2000).unref()
  }
  const take = ({ fin, opcode, payload }) => {
    if (opcode === 8) return close(payload.subarray(0, 2))
    if (opcode === 9) return socket.write(frame(10, payload))
    if (opcode === 10) return
    if ((opcode === 0) !== (parts !== null)) throw refusal(1002, 'a frame out of order')
    if (opcode === 2) throw refusal(1003, 'only text is understood')
    parts = Buffer.concat([parts ?? Buffer.alloc(0), payload])
    if (parts.length > 1 << 20) throw refusal(1009, 'a message over 1 MiB')
    if (!fin) return
    const text = parts
    parts = null
    socket.write(frame(1, Buffer.from(onText(text.toString()))))
  }
  const feed = (chunk) => {
    pending = Buffer.concat([pending, chunk])
    try {
      for (let next; !closing && (next = takeFrame(pending));) {
        pending = next.rest
        take(next)
      }
    } catch (err) {
      say('error', { why: err.message })
      const code = Buffer.alloc(2)
      code.writeUInt16BE(err.close ?? 1011)
      close(code)
    }
  }
  socket.setNoDelay(true)
  socket.on('data', feed)
  socket.on('close', onClose)
  feed(head)
}

// ---- The bot's own server ----

const where = '/stranger'
const secret = crypto.randomBytes(32)
const nonceOf = (matchId) => crypto.createHmac('sha256', secret).update(matchId).digest('hex').slice(0, 16)

function signedByArena(headers, platformKey, host) {
  const [stamp, ...rest] = ['timestamp', 'match', 'recipient', 'commitment', 'beacon-round', 'log-index'].map((name) => headers[`x-arena-${name}`] ?? '')
  const signature = Buffer.from(headers['x-arena-signature-v2'] ?? '', 'base64')
  return /^\d+$/.test(stamp) && Math.abs(Date.now() - Number(stamp)) <= 30_000 &&
    rest[1].split('@')[1] === host &&
    crypto.verify(null, Buffer.from(['x-arena-signature-v2', stamp, ...rest].join('\n')), platformKey, signature)
}

function serve(platformKey, onMatchOver) {
  const server = http.createServer((req, res) => {
    const ping = req.method === 'GET' && req.url === `${where}/ping`
    res.writeHead(ping ? 200 : 404, { 'content-type': 'text/plain' }).end(ping ? 'pong' : 'not found')
  })
  server.on('upgrade', ({ url, headers }, socket, head) => {
    const refuse = (status) =>
      socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    const key = headers['sec-websocket-key']
    const matchId = headers['x-arena-match']
    socket.on('error', () => socket.destroy())
    if (url !== where) return refuse(404)
    if (headers.upgrade.toLowerCase() !== 'websocket' || headers['sec-websocket-version'] !== '13' || !key) return refuse(400)
    if (!signedByArena(headers, platformKey, `127.0.0.1:${server.address().port}`)) return refuse(401)
    const accept = crypto.createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      `Sec-WebSocket-Accept: ${accept}\r\nx-arena-nonce: ${nonceOf(matchId)}\r\nx-arena-version: 0.9 (test)\r\n\r\n`)
    const onText = (text) => {
      const request = JSON.parse(text)
      return JSON.stringify({ id: request.id, action: answerTo(request) })
    }
    speak(socket, head, onText, () => matchId !== 'deploy-check' && onMatchOver(matchId))
  })
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)))
}

// ---- The arena's API ----

let lastStamp = 0

function send(method, target, { body, cookie, key }) {
  const bytes = body ? JSON.stringify(body) : ''
  const headers = body ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) } : {}
  if (cookie) headers.cookie = cookie
  if (key) {
    lastStamp = Math.max(Date.now(), lastStamp + 1) // no two requests share a signature
    headers['x-arena-key'] = key.id
    headers['x-arena-timestamp'] = String(lastStamp)
    headers['x-arena-signature'] =
      crypto.sign(null, Buffer.from(`${lastStamp}.${method}.${target}.${bytes}`), key.privateKey).toString('base64')
  }
  return new Promise((done, broken) => {
    const req = http.request(new URL(target, opts.base), { method, headers }, async (res) => {
      const chunks = []
      for await (const chunk of res) chunks.push(chunk)
      done({ status: res.statusCode, headers: res.headers, text: Buffer.concat(chunks).toString() })
    })
    req.on('error', broken)
    req.end(bytes)
  })
}

async function call(method, target, options = {}) {
  for (;;) {
    const res = await send(method, target, options)
    if (res.status < 300) return { ...res, json: res.text ? JSON.parse(res.text) : null }
    if (res.status === options.allow) return res
    if (res.status !== 429) throw new Error(`${method} ${target}: ${res.status} ${res.text}`)
    await sleep(1000 * Number(res.headers['retry-after'] ?? 1))
  }
}

function linkToken(file) {
  let mail = fs.readFileSync(path.join(opts.mail, file), 'latin1')
  if (/^content-transfer-encoding:\s*quoted-printable/im.test(mail)) {
    mail = mail.replace(/=\r?\n/g, '').replace(/=([0-9A-F]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
  }
  const own = mail.toLowerCase().includes(opts.email.toLowerCase())
  return own && mail.match(/\/sign-in\/confirm\?token=([\w.~%-]+)[\s"<>]/)?.[1]
}

async function signIn() {
  const mails = () => (fs.existsSync(opts.mail) ? fs.readdirSync(opts.mail).filter((f) => f.endsWith('.eml')) : [])
  const old = mails()
  await call('POST', '/sign-in', { body: { email: opts.email } })
  say('mail-asked')
  let token
  while (!token) {
    await sleep(100)
    token = mails().filter((f) => !old.includes(f)).map(linkToken).find(Boolean)
  }
  const res = await call('POST', '/sign-in/confirm', { body: { token: decodeURIComponent(token) } })
  say('signed-in', { account: res.json.id })
  return { account: res.json, cookie: res.headers['set-cookie'].map((c) => c.split(';')[0]).join('; ') }
}

async function chooseHandle({ cookie, account }) {
  const wish = opts.name.toLowerCase().replace(/[^a-z0-9_-]/g, '').slice(0, 14).padEnd(3, '0')
  let { name } = account
  for (let wanted = wish; !name; wanted = `${wish}-${crypto.randomInt(1e4)}`) {
    const res = await call('PATCH', '/me', { cookie, body: { name: wanted }, allow: 409 }) // 409: taken
    name = res.json?.name
  }
  return name
}

async function makeKey({ cookie }) {
  const { publicKey, privateKey } = crypto.generateKeyPairSync('ed25519')
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x, 'base64url').toString('base64')
  const body = { name: opts.name, publicKey: raw, scopes: ['bots.read', 'bots.write', 'account.read'] }
  return { id: (await call('POST', '/keys', { cookie, body })).json.id, privateKey }
}

// ---- After a match ----

function check({ players, replay, proof }, matchId, botId) {
  const own = players.find((p) => p.botId === botId)
  if (!own) return 'our bot is not at the table'
  const jump = replay.find((e, i) => e.seq !== replay[0].seq + i)
  if (jump) return `a gap before seq ${jump.seq}`
  const slip = replay.find((e) => e.seat === own.seat && ['illegal', 'timeout', 'resign'].includes(e.kind))
  if (slip) return `seq ${slip.seq}: ${slip.kind} ${JSON.stringify(slip.data)}`
  if (replay.at(-1)?.kind !== 'end') return 'the replay has no end'
  if (!proof.nonces.includes(nonceOf(matchId))) return 'our nonce is not in the proof'
  return ''
}

async function finish(matchId, botId) {
  let match
  while ((match = (await call('GET', `/matches/${matchId}`)).json).status === 'running') await sleep(1000)
  if (match.status === 'aborted') fail('aborted', `match ${matchId} ran past its wall clock`)
  const own = match.players.find((p) => p.botId === botId)
  say('rated', { matchId, placement: own?.placement, ratingDelta: own?.ratingDelta })
  const why = check(match, matchId, botId)
  say('checked', { matchId, ok: !why, why })
  return !why
}

async function main() {
  for (const need of ['base', 'mail', 'email']) if (!opts[need]) fail('usage', `--${need} is missing`)
  setTimeout(() => fail('timeout', `not done after ${opts.timeout} s, while ${doing}`), 1000 * Number(opts.timeout))

  doing = 'fetching the key of the arena'
  const { publicKey } = (await call('GET', '/.well-known/arena.json')).json
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey, 'base64').toString('base64url') }
  const platformKey = crypto.createPublicKey({ key: jwk, format: 'jwk' })

  const over = new Set()
  const results = []
  let bot, key
  const onMatchOver = async (matchId) => {
    say('match-over', { matchId })
    if (over.has(matchId)) return // the socket was opened again
    over.add(matchId)
    const last = over.size >= Number(opts.matches)
    try {
      // Pause the bot first, so that the arena seats it at no other table.
      if (last) await call('PATCH', `/bots/${bot.id}`, { key, body: { status: 'paused' } })
      doing = `waiting for the result of match ${matchId}`
      results.push(await finish(matchId, bot.id))
    } catch (err) {
      fail('error', err.message)
    }
    doing = 'waiting for a match'
    if (results.length >= Number(opts.matches)) process.exit(results.every(Boolean) ? 0 : 1)
  }
  const port = await serve(platformKey, onMatchOver)
  say('listening', { port })

  doing = 'signing in'
  const session = await signIn()
  say('named', { handle: await chooseHandle(session) })
  key = await makeKey(session)
  say('key', { keyId: key.id })

  doing = 'registering'
  const url = `http://127.0.0.1:${port}${where}`
  bot = (await call('POST', '/bots', { key, body: { name: opts.name, mode: 'standard', url } })).json
  say('registered', { botId: bot.id, status: bot.status })
  const { bots } = (await call('GET', '/bots?mode=standard', { key })).json
  say('listed', { bots: bots.length, own: bots.some((b) => b.id === bot.id) })
  const me = (await call('GET', '/me', { key })).json
  say('me', { id: me.id, name: me.name })
  doing = 'waiting for a match'
}

main().catch((err) => fail('error', err.message))
