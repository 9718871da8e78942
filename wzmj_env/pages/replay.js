"use strict";

// The replay page. A record says what was asked, chosen and drawn, so that no rule of the game is needed here: tiles are moved
// as the lines tell. `sceneOf` and `drawTable` are the twins of wzmj_env/scene.py and wzmj_env/svg.py; a test compares them.
// Whatever comes from a record is shown by textContent alone.

const LAYOUT = JSON.parse(document.getElementById("layout").textContent);
const { kinds: KINDS, tiles: TILES, dealt: DEALT, white: WHITE, honours: HONOURS } = LAYOUT;
const [GANG, CHI_LOW, PENG, GANG_CLAIM, HU, PASS, RAISE] = LAYOUT.actions;
const MAX_TEXT = 1 << 27; // characters of a record that is opened
const CHI = "chi", ADDED = "added", CONCEALED = "concealed";

// --- reading -----------------------------------------------------------------------------------------------------------

function need(truth, what) {
  if (!truth) throw new Error(what);
}

function isNumber(value, low, high) {
  return Number.isInteger(value) && low <= value && value <= high;
}

function areNumbers(list, low, high, length) {
  return Array.isArray(list) && (length === undefined || list.length === length) && list.every((x) => isNumber(x, low, high));
}

/** The header and hands of a record; an incomplete last line is left out. Throws an Error that names the line. */
function readRecord(text) {
  need(text.length <= MAX_TEXT, "the record is too long");
  const lines = text.split("\n");
  const record = { header: null, hands: [], closed: false, cut: lines.pop() !== "" };
  lines.forEach((line, i) => {
    try {
      readLine(record, JSON.parse(line));
    } catch (error) {
      throw new Error(`line ${i + 1}: ${error.message}`);
    }
  });
  need(record.header !== null, "line 1: no whole line, this is no record");
  return record;
}

function readLine(record, said) {
  need(said !== null && typeof said === "object" && !Array.isArray(said), "no JSON object");
  const hand = record.hands[record.hands.length - 1];
  if (record.header === null) {
    need(said.type === "record", "the first line is no header of a record");
    for (const [name, version] of Object.entries(LAYOUT.versions)) {
      need(said[name] === version, `${name} is ${JSON.stringify(said[name])}; this page reads ${JSON.stringify(version)}`);
    }
    need(isNumber(said.rules?.num_players, 2, 4), "num_players must be 2 to 4");
    record.header = said;
    return;
  }
  const n = record.header.rules.num_players;
  need(!record.closed, "it comes after the last line");
  if (said.type === "hand") {
    const topped = Array.isArray(said.topped) && said.topped.length === n && said.topped.every((x) => typeof x === "boolean");
    need(areNumbers(said.wall, 0, KINDS - 1, TILES) && isNumber(said.dealer, 0, n - 1) && topped, "wrong hand");
    need(Array.isArray(said.players) && said.players.length === n && said.players.every((x) => typeof x === "string"),
      "wrong players");
    record.hands.push({ ...said, n, stakes: record.header.rules.stakes === true, lines: [], frames: null });
  } else if (said.type === "close") {
    record.closed = true;
  } else {
    need(hand !== undefined, "no hand has begun");
    const ok = {
      decision: () => isNumber(said.seat, 0, n - 1) && areNumbers(said.legal, 0, RAISE) && said.legal.includes(said.action),
      draw: () => isNumber(said.seat, 0, n - 1) && isNumber(said.tile, 0, KINDS - 1) && typeof said.replacement === "boolean",
      end: () => areNumbers(said.payments, -1e15, 1e15, n) && (said.winner === null || isNumber(said.winner, 0, n - 1))
        && Array.isArray(said.patterns) && isNumber(said.value, 0, 4),
      left: () => areNumbers(said.seats, 0, n - 1) && said.seats.length > 0 && areNumbers(said.payments, -1e15, 1e15, n),
      note: () => said.note !== null && typeof said.note === "object",
    };
    need(Object.hasOwn(ok, said.type) && ok[said.type](), "a line that this page cannot read");
    hand.lines.push(said);
  }
}

// --- what the lines do -------------------------------------------------------------------------------------------------

/** The frames of a hand: the open state before each decision, and the last one. */
function framesOf(hand) {
  if (hand.frames) return hand.frames;
  const s = {
    n: hand.n, dealer: hand.dealer, phase: "stakes", mover: null, caishen: null, remaining: TILES, drawn: null,
    hands: Array.from({ length: hand.n }, () => []), melds: Array.from({ length: hand.n }, () => []),
    discards: Array.from({ length: hand.n }, () => []), question: null, robbing: false, answers: {}, winner: null,
    payments: null, topped: hand.topped.slice(), bought: hand.bought,
  };
  const frames = [];
  const lines = hand.lines.filter((line) => line.type !== "note");
  let notes = [], before = 0;
  const gather = (at) => {
    const end = at === undefined ? hand.lines.length : hand.lines.indexOf(at);
    notes = hand.lines.slice(before, end).filter((line) => line.type === "note").map((line) => line.note);
    before = end;
  };
  const keep = (decision) => frames.push({ state: structuredClone(s), decision, notes });
  if (!hand.stakes || nextStake(s, hand.bought ? s.dealer : null) === null) deal(s, hand);
  lines.forEach((line, i) => {
    const next = lines[i + 1];
    if (line.type === "decision") {
      gather(line);
      s.mover = line.seat;
      s.phase = phaseOf(s, line);
      keep(line);
      decide(s, hand, line, next);
    } else if (line.type === "draw") {
      s.hands[line.seat].push(line.tile);
      s.drawn = line.tile;
      s.remaining -= 1;
    } else {
      gather();
      s.phase = "over";
      s.mover = null;
      s.question = null;
      s.drawn = null;
      s.winner = line.type === "end" ? line.winner : null;
      s.payments = line.payments;
      s.end = line;
      keep(null);
    }
  });
  if (s.phase !== "over") {
    gather();
    s.mover = null;
    keep(null);
  }
  hand.frames = frames;
  return frames;
}

function phaseOf(s, decision) {
  if (decision.legal.includes(RAISE)) return "stakes";
  if (decision.legal.includes(PASS)) return s.robbing ? "rob" : "claim";
  return s.drawn === null ? "discard" : "turn";
}

/** The next seat after p that is asked about its stake; null when none is. p null: the dealer is first. */
function nextStake(s, p) {
  if (p === null) return s.dealer;
  for (let q = (p + 1) % s.n; q !== s.dealer; q = (q + 1) % s.n) {
    if (!s.topped[q]) return q;
  }
  return null;
}

function deal(s, hand) {
  s.caishen = hand.wall[TILES - 1];
  for (let i = 0; i < s.n; i++) {
    s.hands[(s.dealer + i) % s.n] = hand.wall.slice(i * DEALT, (i + 1) * DEALT);
  }
  s.drawn = hand.wall[s.n * DEALT];
  s.hands[s.dealer].push(s.drawn);
  s.remaining = TILES - s.n * DEALT - 1;
  s.phase = "turn";
}

function take(s, p, kind) {
  const at = s.hands[p].lastIndexOf(kind);
  need(at >= 0, `seat ${p} has no tile ${kind}`);
  s.hands[p].splice(at, 1);
}

function decide(s, hand, line, next) {
  const { seat, action } = line;
  if (s.phase === "stakes") {
    if (action === RAISE && seat !== s.dealer) s.topped[seat] = true;
    if (nextStake(s, seat) === null) deal(s, hand);
    return;
  }
  if (s.phase === "claim" || s.phase === "rob") {
    s.answers[seat] = action;
  } else if (action < GANG) {
    take(s, seat, action);
    s.discards[seat].push([action, false]);
    s.question = [seat, action];
    s.robbing = false;
    s.drawn = null;
  } else if (action < CHI_LOW) {
    const kind = action - GANG;
    s.drawn = null;
    if (s.hands[seat].filter((k) => k === kind).length === 4) {
      for (let i = 0; i < 4; i++) take(s, seat, kind);
      s.melds[seat].push({ tiles: [kind, kind, kind, kind], turned: null, how: CONCEALED });
      return;
    }
    s.question = [seat, kind];
    s.robbing = true;
  } else {
    s.drawn = null; // hu by own draw
    return;
  }
  const asking = next === undefined || (next.type === "decision" && next.legal.includes(PASS)) || next.type === "left";
  if (!asking) resolve(s, next);
}

/** All have answered: the line that follows tells which claim was carried out. */
function resolve(s, next) {
  const [source, tile] = s.question;
  const claimed = () => { s.discards[source][s.discards[source].length - 1][1] = true; };
  if (next.type === "end") {
    if (next.loser === source) {
      if (s.robbing) take(s, source, tile);
      else claimed();
      s.hands[next.winner].push(tile);
    }
  } else if (next.type === "draw" && s.robbing) {
    const meld = s.melds[source].find((m) => m.how === "peng" && m.tiles[0] === tile);
    need(meld !== undefined, "no peng to add to");
    take(s, source, tile);
    Object.assign(meld, { tiles: [tile, tile, tile, tile], how: ADDED, turned: turnedPlace(meld.source, source, s.n, false) });
  } else if (next.type === "draw" && next.replacement) {
    claimed();
    for (let i = 0; i < 3; i++) take(s, next.seat, tile);
    meldOf(s, next.seat, [tile, tile, tile, tile], turnedPlace(source, next.seat, s.n, false), "gang", source);
  } else if (next.type === "decision") {
    const action = s.answers[next.seat];
    claimed();
    if (action === PENG) {
      for (let i = 0; i < 2; i++) take(s, next.seat, tile);
      meldOf(s, next.seat, [tile, tile, tile], turnedPlace(source, next.seat, s.n, true), "peng", source);
    } else {
      const face = tile === WHITE ? s.caishen : tile;
      const lowest = face - (action - CHI_LOW);
      const others = [lowest, lowest + 1, lowest + 2].filter((k) => k !== face).map((k) => (k === s.caishen ? WHITE : k));
      for (const k of others) take(s, next.seat, k);
      meldOf(s, next.seat, [tile, ...others], 0, CHI, source);
    }
  }
  s.question = null;
  s.answers = {};
}

function meldOf(s, p, tiles, turned, how, source) {
  s.melds[p].push({ tiles, turned, how, source });
}

function turnedPlace(source, p, n, isPeng) {
  const after = (source - p + n) % n;
  if (after === n - 1) return 0;
  return after === 1 ? (isPeng ? 2 : 3) : 1;
}

/** The scene of an open state, open (seat null) or as a seat may see it. */
function sceneOf(s, seat) {
  const hides = ["claim", "rob", "over"].includes(s.phase) && seat !== null && s.mover !== seat;
  const open = (p) => seat === null || seat === p || (s.phase === "over" && s.winner === p);
  const drawn = s.phase === "turn" && s.mover !== null && open(s.mover);
  return {
    players: s.n, seat, dealer: s.dealer, phase: s.phase, mover: hides ? null : s.mover, caishen: s.caishen,
    remaining: s.remaining, drawn,
    hands: s.hands.map((hand, p) => {
      if (s.caishen === null) return 0;
      if (!open(p)) return hand.length;
      const last = drawn && p === s.mover;
      const kinds = hand.slice();
      if (last) kinds.splice(kinds.lastIndexOf(s.drawn), 1);
      kinds.sort((a, b) => (b === s.caishen) - (a === s.caishen) || a - b);
      return last ? [...kinds, s.drawn] : kinds;
    }),
    melds: s.melds.map((melds) => melds.map((m) => [m.tiles, m.turned, m.how])),
    discards: s.discards, question: s.phase === "over" ? null : s.question, winner: s.winner, payments: s.payments,
  };
}

// --- drawing -----------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, children = []) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

function use(name, x, y, width, height, turned = false) {
  const place = turned ? { transform: `translate(${short(x)} ${short(y + width)}) rotate(-90)` } : { x: short(x), y: short(y) };
  return element("use", { href: `#${LAYOUT.prefix}${name}`, ...place, width: short(width), height: short(height) });
}

function short(x) {
  return String(Number(x.toPrecision(6)));
}

function tile(kind, x, y, width, caishen, turned = false, mark = "") {
  const height = (width * LAYOUT.tileHeight) / LAYOUT.tileWidth;
  const names = [kind === null ? "back" : `t${kind}`];
  if (kind !== null && kind === caishen) names.push("wild");
  if (mark) names.push(mark);
  return names.map((name) => use(name, x, y, width, height, turned));
}

function number(text, x, y, height) {
  return [...text].map((sign) => {
    const width = (LAYOUT.signs[sign] * height) / LAYOUT.em;
    const made = use(`d${sign}`, x, y, width, height);
    x += width;
    return made;
  });
}

function seatOrder(scene) {
  const seats = Array.from({ length: scene.players }, (_, i) => i);
  return scene.seat === null ? seats : seats.map((i) => (scene.seat + 1 + i) % scene.players);
}

function drawTable(scene) {
  const L = LAYOUT, height = L.head + L.band * scene.players;
  const parts = [element("rect", { width: L.width, height, fill: L.table })];
  if (scene.caishen !== null) parts.push(...tile(scene.caishen, L.pad + 8, 8, 42, scene.caishen));
  parts.push(...tile(null, L.first, 18, 30, null), ...number(String(scene.remaining), L.first + 40, 24, 30));
  if (scene.question) parts.push(...tile(scene.question[1], L.first + 160, 8, 42, scene.caishen, false, "asked"));
  seatOrder(scene).forEach((p, row) => parts.push(...drawBand(scene, p, L.head + L.band * row)));
  return element("svg", { viewBox: `0 0 ${L.width} ${height}`, role: "img" }, parts);
}

function drawBand(scene, p, y) {
  const L = LAYOUT, hand = scene.hands[p];
  const parts = [element("rect", { x: L.pad, y, width: L.width - 2 * L.pad, height: L.band - L.pad, rx: 8, fill: L.bandColour })];
  parts.push(...number(String(p), L.pad + 26, y + 8, 30));
  if (p === scene.mover) parts.push(use("moves", L.pad + 4, y + 13, 20, 20));
  if (p === scene.dealer) parts.push(use("deals", L.pad + 54, y + 6, 34, 34));
  if (scene.payments) {
    const points = scene.payments[p];
    parts.push(...number((points < 0 ? "" : "+") + points, L.pad + 10, y + 52, L.digit));
  }
  const bottom = y + 66, height = (L.handTile * L.tileHeight) / L.tileWidth;
  let x = L.first;
  const kinds = Array.isArray(hand) ? hand : Array(hand).fill(null);
  kinds.forEach((kind, i) => {
    if (scene.drawn && p === scene.mover && i === kinds.length - 1) x += 10;
    parts.push(...tile(kind, x, bottom - height, L.handTile, scene.caishen));
    x += L.handTile;
  });
  for (const [tiles, turned, how] of scene.melds[p]) {
    x = drawMeld(parts, tiles, turned, how, x + 12, bottom);
  }
  drawDiscards(parts, scene, p, bottom + 8);
  return parts;
}

/** Adds a meld to `parts`; where it ends. */
function drawMeld(parts, tiles, turned, how, x, bottom) {
  const width = LAYOUT.meldTile, height = (width * LAYOUT.tileHeight) / LAYOUT.tileWidth;
  const lying = how === ADDED ? tiles.slice(0, -1) : tiles;
  const place = how === ADDED && turned === lying.length ? turned - 1 : turned;
  lying.forEach((kind, i) => {
    if (i === place) {
      parts.push(...tile(kind, x, bottom - width, width, null, true));
      if (how === ADDED) parts.push(...tile(kind, x, bottom - 2 * width, width, null, true));
      x += height;
    } else {
      parts.push(...tile(how === CONCEALED && (i === 0 || i === 3) ? null : kind, x, bottom - height, width, null));
      x += width;
    }
  });
  return x;
}

function drawDiscards(parts, scene, p, top) {
  const width = LAYOUT.discardTile, height = (width * LAYOUT.tileHeight) / LAYOUT.tileWidth;
  const last = scene.discards[p].length - 1;
  let x = LAYOUT.first, y = top;
  scene.discards[p].forEach(([kind, taken], i) => {
    const asked = scene.phase === "claim" && scene.question !== null && scene.question[0] === p && i === last;
    if (i && i % LAYOUT.discardsARow === 0) {
      x = LAYOUT.first;
      y += height + 2;
    }
    if (taken) parts.push(...tile(kind, x, y + height - width, width, scene.caishen, true, "gone"));
    else parts.push(...tile(kind, x, y, width, scene.caishen, false, asked ? "asked" : ""));
    x += taken ? height : width;
  });
}

// --- the page ----------------------------------------------------------------------------------------------------------

const WORDS = {
  en: {
    title: "Wenzhou Mahjong replay", open: "Open a record:", load: "Open link", hand: "Hand", view: "View", all: "all hands open",
    seat: "seat", players: "Players", first: "First (Home)", back: "Back (←)", forward: "Forward (→)", last: "Last (End)",
    place: "Place in the hand", help: "Keys: ← → Home End, Page Up and Page Down for hands, O for all hands, 0 to 3 for a seat.",
    asks: "may choose:", others: "Another seat decides.", over: "The hand is over", drawnHand: "nobody wins", wins: "wins",
    leaves: "has left", stopped: "The record ends here.", discard: "discard", gang: "gang", peng: "peng", hu: "hu", pass: "pass",
    raise: "raise", chi: ["chi low", "chi mid", "chi high"], by: "chosen by", dealer: "dealer", language: "中文",
    incomplete: "The record is not complete.", values: { 0: "", 1: "soft", 2: "hard", 4: "double" }, from: "from",
  },
  zh: {
    title: "温州麻将回放", open: "打开牌谱：", load: "打开链接", hand: "局", view: "视角", all: "全部明牌",
    seat: "座位", players: "玩家", first: "开头 (Home)", back: "上一步 (←)", forward: "下一步 (→)", last: "结尾 (End)",
    place: "进度", help: "按键：← → Home End；Page Up / Page Down 换局；O 明牌；0 至 3 选座位。",
    asks: "可选：", others: "轮到别家。", over: "本局结束", drawnHand: "流局", wins: "胡牌",
    leaves: "离开", stopped: "牌谱到此为止。", discard: "打", gang: "杠", peng: "碰", hu: "胡", pass: "过",
    raise: "买 / 顶", chi: ["吃头", "吃中", "吃尾"], by: "代打：", dealer: "庄", language: "English",
    incomplete: "牌谱不完整。", values: { 0: "", 1: "软牌", 2: "硬牌", 4: "双翻" }, from: "点炮",
  },
};

const at = { record: null, hand: 0, place: 0, seat: null, language: "en" };
const find = (id) => document.getElementById(id);

function word(name) {
  return WORDS[at.language][name];
}

function actionName(action) {
  if (action < GANG) return `${word("discard")} ${LAYOUT.names[at.language][action]}`;
  if (action < CHI_LOW) return `${word("gang")} ${LAYOUT.names[at.language][action - GANG]}`;
  if (action < PENG) return word("chi")[action - CHI_LOW];
  return { [PENG]: word("peng"), [GANG_CLAIM]: word("gang"), [HU]: word("hu"), [PASS]: word("pass"), [RAISE]: word("raise") }[action];
}

/** The frames that a view steps through: a seat does not learn who else is asked about a tile. */
function framesSeen(hand, seat) {
  const frames = framesOf(hand);
  return frames.filter(({ state, decision }, i) =>
    seat === null || i === frames.length - 1 || !["claim", "rob"].includes(state.phase) || decision.seat === seat);
}

function item(text, kind, chosen) {
  const made = document.createElement("li");
  if (kind !== null) made.append(element("svg", { viewBox: "0 0 60 80" }, [use(`t${kind}`, 0, 0, 60, 80)]));
  const said = document.createElement("span");
  said.textContent = text;
  made.append(said);
  if (chosen) {
    made.className = "chosen";
    made.setAttribute("aria-current", "true");
  }
  return made;
}

function show() {
  document.documentElement.lang = at.language === "zh" ? "zh-CN" : "en";
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
  for (const node of document.querySelectorAll("[data-title]")) {
    node.title = word(node.dataset.title);
    node.setAttribute("aria-label", node.title);
  }
  document.title = word("title");
  find("language").textContent = word("language");
  find("main").hidden = at.record === null || at.record.hands.length === 0;
  if (find("main").hidden) return;
  const hand = at.record.hands[at.hand];
  const frames = framesSeen(hand, at.seat);
  at.place = Math.min(Math.max(at.place, 0), frames.length - 1);
  const { state, decision, notes } = frames[at.place];
  const options = (select, texts, chosen) => {
    select.replaceChildren(...texts.map(([value, text]) => new Option(text, value, false, value === chosen)));
  };
  options(find("hand"), at.record.hands.map((_, i) => [String(i), String(i + 1)]), String(at.hand));
  const seats = hand.players.map((name, p) => [String(p), `${word("seat")} ${p} ${name}`]);
  options(find("seat"), [["", word("all")], ...seats], at.seat === null ? "" : String(at.seat));
  find("place").max = frames.length - 1;
  find("place").value = at.place;
  find("count").textContent = `${at.place + 1} / ${frames.length}`;
  const scene = sceneOf(state, at.seat);
  find("table").replaceChildren(drawTable(scene));
  showChoice(hand, state, decision);
  find("note").textContent = notes.map((note) => JSON.stringify(note)).join("\n");
  const scores = hand.players.map((_, p) => at.record.hands.slice(0, at.hand).reduce((sum, h) => sum + pointsOf(h, p), 0));
  find("players").replaceChildren(...hand.players.map((name, p) => {
    const points = scores[p] + (state.payments ? state.payments[p] : 0);
    const made = item(`${name}${p === hand.dealer ? ` (${word("dealer")})` : ""}  ${points < 0 ? "" : "+"}${points}`, null, false);
    if (p === scene.mover) made.className = "mover";
    return made;
  }));
}

function pointsOf(hand, p) {
  const end = hand.lines.find((line) => line.type === "end" || line.type === "left");
  return end === undefined ? 0 : end.payments[p];
}

function showChoice(hand, state, decision) {
  const mine = decision !== null && (at.seat === null || decision.seat === at.seat);
  let said = word("others");
  if (mine) said = `${hand.players[decision.seat]} ${word("asks")}`;
  else if (decision === null) said = state.end === undefined ? word("stopped") : endText(hand, state.end);
  find("asked").textContent = said;
  const because = mine && typeof decision.by === "string" ? `  (${word("by")} ${decision.by})` : "";
  find("actions").replaceChildren(...(mine ? decision.legal : []).map((action) => {
    const kind = action < GANG ? action : action < CHI_LOW ? action - GANG : null;
    const chosen = action === decision.action;
    return item(actionName(action) + (chosen ? because : ""), kind, chosen);
  }));
}

function endText(hand, end) {
  if (end.type === "left") return `${word("over")}: ${end.seats.map((seat) => hand.players[seat]).join(", ")} ${word("leaves")}`;
  if (end.winner === null) return `${word("over")}: ${word("drawnHand")}`;
  const source = end.loser === null ? "" : `, ${word("from")} ${hand.players[end.loser]}`;
  return `${word("over")}: ${hand.players[end.winner]} ${word("wins")}, ${word("values")[end.value]}${source}. ${end.patterns.join(" ")}`;
}

// --- what people do ----------------------------------------------------------------------------------------------------

function open(text) {
  at.record = null;
  find("problem").textContent = "";
  try {
    const record = readRecord(text);
    record.hands.forEach((hand, i) => {
      try {
        framesOf(hand);
      } catch (error) {
        throw new Error(`hand ${i + 1}: ${error.message}`);
      }
    });
    Object.assign(at, { record, hand: 0, place: 0, seat: null });
    if (!record.closed) find("problem").textContent = word("incomplete");
  } catch (error) {
    find("problem").textContent = error.message;
  }
  show();
}

/** The text of a file, unpacked when it is gzip; of one that ends too soon, what is there. */
async function textOf(blob) {
  const head = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  const packed = head[0] === 0x1f && head[1] === 0x8b;
  const stream = packed ? blob.stream().pipeThrough(new DecompressionStream("gzip")) : blob.stream();
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
      need(text.length <= MAX_TEXT, "the record is too long");
    }
  } catch (error) {
    if (!packed || text.length > MAX_TEXT || text === "") throw error;
  }
  return text;
}

async function openBlob(promise) {
  try {
    open(await textOf(await promise));
  } catch (error) {
    at.record = null;
    find("problem").textContent = error.message;
    show();
  }
}

async function fetched(link) {
  const answer = await fetch(link);
  need(answer.ok, `${answer.status} ${link}`);
  return answer.blob();
}

function go(change) {
  Object.assign(at, change);
  show();
}

function goToHand(hand) {
  if (at.record && hand >= 0 && hand < at.record.hands.length) go({ hand, place: 0 });
}

const KEYS = {
  ArrowLeft: () => go({ place: at.place - 1 }),
  ArrowRight: () => go({ place: at.place + 1 }),
  Home: () => go({ place: 0 }),
  End: () => go({ place: Infinity }),
  PageUp: () => goToHand(at.hand - 1),
  PageDown: () => goToHand(at.hand + 1),
  o: () => go({ seat: null, place: 0 }),
};
for (let p = 0; p < 4; p++) {
  KEYS[p] = () => at.record && p < at.record.header.rules.num_players && go({ seat: p, place: 0 });
}

document.addEventListener("keydown", (event) => {
  const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : undefined;
  if (!act || at.record === null || event.ctrlKey || event.altKey || event.metaKey || event.target.id === "link") return;
  event.preventDefault();
  act();
});
find("first").addEventListener("click", KEYS.Home);
find("back").addEventListener("click", KEYS.ArrowLeft);
find("forward").addEventListener("click", KEYS.ArrowRight);
find("last").addEventListener("click", KEYS.End);
find("place").addEventListener("input", () => go({ place: Number(find("place").value) }));
find("hand").addEventListener("change", () => goToHand(Number(find("hand").value)));
find("seat").addEventListener("change", () => go({ seat: find("seat").value === "" ? null : Number(find("seat").value), place: 0 }));
find("language").addEventListener("click", () => go({ language: at.language === "en" ? "zh" : "en" }));
find("file").addEventListener("change", () => find("file").files[0] && openBlob(find("file").files[0]));
find("link-form").addEventListener("submit", (event) => {
  event.preventDefault();
  openBlob(fetched(find("link").value));
});

if (navigator.language.startsWith("zh")) at.language = "zh";
const embedded = JSON.parse(find("record").textContent);
const linked = new URLSearchParams(location.search).get("record");
if (embedded !== null) open(embedded);
else if (linked) openBlob(fetched(linked));
else show();
