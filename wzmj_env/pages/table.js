"use strict";

// The page of a table. The server sends complete views of what this seat may know; what is shown is a function of the last one.
// Names and whatever else comes from others are shown by textContent alone.

const LAYOUT = JSON.parse(document.getElementById("layout").textContent);
const [GANG, CHI_LOW, PENG, GANG_CLAIM, HU, PASS, RAISE] = LAYOUT.actions;
const WHITE = LAYOUT.white;
const CODES = { replaced: 4001, unknown: 4003 };
const RETRY = 1000; // milliseconds until the next try to connect
const LEAVING = 8; // R10.6: times unit and ladder value

const WORDS = {
  en: {
    title: "Wenzhou Mahjong", name: "Your name", playersLabel: "Players", handsLabel: "Hands", entryLabel: "Entry (5 units)",
    othersLabel: "The other seats", create: "Make the table", howTo: "How to play", person: "a person (by the link)", take: "Take a seat",
    howToText: "Draws come by themselves. Select a tile with a left click and discard it with a right click; on a touch screen tap it, "
      + "then tap it again. A win is five sets and a pair, eight pairs and a tile, or three caishen. The caishen, marked with a gold "
      + "corner, is wild. Winds and dragons that you hold once must be discarded first. A turn has 20 seconds, a claim 10.",
    link: "Link for others", start: "Start", waiting: "Waiting for the others to take their seats and press start.", free: "free",
    isReady: "ready", agent: "agent", seat: "Seat", wall: "Tiles left", caishen: "Caishen", base: "Base", hand: "Hand", bought: "bought",
    topped: "topped", dealer: "dealer", away: "connection lost", hosted: "hosted", gone: "has left", you: "you", unit: "unit",
    hostedText: "The table plays for you.", cancelHosting: "Play myself", leave: "Leave", hint: "Hint", soundOn: "Sound: on",
    soundOff: "Sound: off", language: "中文", goOn: "Continue", newTable: "New table", total: "Score", payment: "This hand", house: "House",
    turn: "Your turn: discard, or choose.", discardOnly: "Your turn: discard a tile.", claim: "Do you want this tile?", rob: "Rob this gang?",
    buy: "Double your base as dealer for this dealership?", top: "Double the base between you and the dealer?",
    raiseBuy: "Buy", raiseTop: "Top", no: "No", cancel: "Cancel (pass)", hu: "Hu", peng: "Peng", gang: "Gang",
    chi: ["Chi low", "Chi mid", "Chi high"], discard: "Discard",
    others: "Others are playing.", spectator: "You are looking on.",
    reasons: { caishen: "The caishen is not discarded.", lone: "First discard a lone wind or dragon.", follow: "First discard the lone wind or dragon already out." },
    help: "Left click selects, right click discards; touch: tap, tap again. Keys: ← → choose, Enter discards, H hu, G gang, P peng, 1 2 3 chi, Esc pass, T hint.",
    values: { 0: "", 1: "soft ×1", 2: "hard ×2", 4: "double ×4" }, wins: "wins", drawnHand: "Drawn hand: nobody wins", from: "on the tile of",
    byDraw: "by own draw", pays: "pays", takes: "takes from each", caishenPoints: "caishen", left: "has left and pays", over: "The match is over.",
    leavingText: (charge) => `Leaving ends the match and costs you ${charge} points. Closing the page costs nothing for 90 seconds.`,
    leavingFree: "Leave this table?", leaveYes: "Leave", leaveNo: "Stay",
    lost: "The connection is lost; trying again …", replaced: "This seat is being played in another window.", unknown: "There is no such table, or the seat is not yours.",
    events: { discard: "discards", chi: "chi", peng: "peng", gang: "gang", declare: "adds to a gang", stakeYes: "doubles the base", stakeNo: "does not double", draw: "draws" },
    back: "To the start page",
  },
  zh: {
    title: "温州麻将", name: "你的名字", playersLabel: "人数", handsLabel: "局数", entryLabel: "入场（5 的倍数）",
    othersLabel: "其他座位", create: "开桌", howTo: "玩法", person: "真人（凭链接）", take: "入座",
    howToText: "摸牌自动。左键选牌，右键打出；触屏点一下选中，再点打出。五副牌加一对将、八对加一张，或三个财神即可胡牌。金角标记的是财神，可当任意牌。"
      + "单张风牌须先打。出牌 20 秒，吃碰杠胡 10 秒。",
    link: "邀请链接", start: "开始", waiting: "等待其他玩家入座并按开始。", free: "空位",
    isReady: "已准备", agent: "电脑", seat: "座位", wall: "余牌", caishen: "财神", base: "底", hand: "局", bought: "买底",
    topped: "顶底", dealer: "庄", away: "断线", hosted: "托管", gone: "已离开", you: "你", unit: "底分",
    hostedText: "正在托管。", cancelHosting: "取消托管", leave: "离开", hint: "提示", soundOn: "声音：开",
    soundOff: "声音：关", language: "English", goOn: "继续", newTable: "再开一桌", total: "总分", payment: "本局", house: "系统",
    turn: "轮到你：打牌或选择。", discardOnly: "轮到你：请打一张牌。", claim: "要这张牌吗？", rob: "抢杠吗？",
    buy: "庄家买底，本庄底分加倍？", top: "顶底，你与庄家之间加倍？",
    raiseBuy: "买底", raiseTop: "顶底", no: "不", cancel: "取消（过）", hu: "胡", peng: "碰", gang: "杠",
    chi: ["吃头", "吃中", "吃尾"], discard: "打出",
    others: "别家行牌。", spectator: "正在观战。",
    reasons: { caishen: "财神不能打出。", lone: "单张风牌须先打。", follow: "须先跟打已出现的单张风牌。" },
    help: "左键选牌，右键打出；触屏点选，再点打出。按键：← → 选牌，Enter 打出，H 胡，G 杠，P 碰，1 2 3 吃，Esc 过，T 提示。",
    values: { 0: "", 1: "软牌 ×1", 2: "硬牌 ×2", 4: "双翻 ×4" }, wins: "胡牌", drawnHand: "流局", from: "点炮",
    byDraw: "自摸", pays: "付", takes: "向每家收", caishenPoints: "财神分", left: "离开，扣", over: "本场结束。",
    leavingText: (charge) => `离开将结束本场并扣 ${charge} 分。关闭页面 90 秒内不扣分。`,
    leavingFree: "离开这一桌？", leaveYes: "离开", leaveNo: "留下",
    lost: "断线，正在重连……", replaced: "此座位已在另一窗口打开。", unknown: "没有这一桌，或座位不是你的。",
    events: { discard: "打", chi: "吃", peng: "碰", gang: "杠", declare: "加杠", stakeYes: "加倍", stakeNo: "不加倍", draw: "摸牌" },
    back: "回到首页",
  },
};
const PATTERNS_ZH = {
  HEAVENLY: "天胡", EARTHLY: "地胡", SINGLE_WAIT: "单吊", QUANQIUSHEN: "全球神", HARD_EIGHT_PAIRS: "硬八对", THREE_CAISHEN_COMPLETE: "三财神成牌",
  ALL_TRIPLETS: "碰碰胡", SELF_DRAW: "自摸", NO_CAISHEN: "无财神", CAISHEN_HOME: "财神归位", ROB_GANG: "抢杠胡", SOFT_EIGHT_PAIRS: "软八对",
  THREE_CAISHEN: "三财神", SOFT: "软牌",
};

const at = {
  language: "en", table: null, token: null, socket: null, view: null, seconds: {}, heard: 0, selected: null, answered: null, hinted: null,
  sound: false, options: null, drawn: {},
};
const find = (id) => document.getElementById(id);
const word = (name) => WORDS[at.language][name];

// --- drawing -----------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, children = []) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** An element of HTML with a class and content. */
function html(name, className = "", ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function tileName(kind) {
  return LAYOUT.names[at.language][kind];
}

/** The drawing of a tile, null for its back; turned ones lie on their side. */
function drawTile(kind, caishen, turned = false, mark = "") {
  const names = [kind === null ? "back" : `t${kind}`];
  if (kind !== null && kind === caishen) names.push("wild");
  if (mark) names.push(mark);
  const { tileWidth: w, tileHeight: h } = LAYOUT;
  const place = turned ? { transform: `translate(0 ${w}) rotate(-90)` } : {};
  const uses = names.map((name) => element("use", { href: `#${LAYOUT.prefix}${name}`, width: w, height: h, ...place }));
  const drawn = element("svg", { viewBox: turned ? `0 0 ${h} ${w}` : `0 0 ${w} ${h}`, role: "img" }, uses);
  drawn.setAttribute("aria-label", kind === null ? "" : tileName(kind));
  return drawn;
}

function tile(kind, caishen, turned = false, mark = "") {
  return html("span", `tile${turned ? " turned" : ""}${kind === null ? " back" : ""}`, drawTile(kind, caishen, turned, mark));
}

function meld([tiles, turned, how]) {
  const added = how === "added", lying = added ? tiles.slice(0, -1) : tiles;
  const place = added && turned === lying.length ? turned - 1 : turned;
  return html("span", "meld", ...lying.map((kind, i) => {
    if (i !== place) return html("span", "tile", drawTile(how === "concealed" && (i === 0 || i === 3) ? null : kind, null));
    const pile = html("span", "tile turned", drawTile(kind, null, true));
    if (added) pile.prepend(drawTile(kind, null, true));
    return pile;
  }));
}

/** The seat that sits at a place of the table, seen by the viewer. */
function placeOf(seat) {
  const { players, viewer } = at.view;
  const after = (seat - (viewer ?? 0) + players) % players;
  return { 2: ["own", "across"], 3: ["own", "right", "left"], 4: ["own", "right", "across", "left"] }[players][after];
}

function mark(text, grey = false) {
  return html("span", grey ? "mark grey" : "mark", text);
}

function signed(points) {
  return `${points < 0 ? "−" : "+"}${Math.abs(points)}`;
}

/** The name at a seat; with the seat's number where others have the same. */
function nameOf(p) {
  const { seats } = at.view, { name } = seats[p];
  return seats.filter((seat) => seat.name === name).length > 1 ? `${name} ${p}` : name;
}

function drawSeat(p) {
  const { view } = at, scene = view.scene, seat = view.seats[p];
  const box = find(`seat-${placeOf(p)}`);
  const name = html("b", "", nameOf(p));
  const who = html("div", "who", name, html("span", "", signed(seat.score)));
  if (p === view.viewer) who.append(html("span", "", `(${word("you")})`));
  if (p === scene.dealer) who.append(mark(word("dealer")));
  if (view.stakes.bought && p === scene.dealer) who.append(mark(word("bought"), true));
  if (view.stakes.topped[p]) who.append(mark(word("topped"), true));
  if (seat.hosted) who.append(mark(word("hosted"), true));
  if (seat.away) who.append(mark(word("away"), true));
  if (seat.left) who.append(mark(word("gone"), true));
  const parts = [who];
  const hand = scene.hands[p], melds = html("div", "row");
  if (p !== view.viewer) {
    if (Array.isArray(hand)) melds.append(...hand.map((kind) => tile(kind, scene.caishen)));
    else if (hand) melds.append(tile(null, null), html("span", "", `×${hand}`));
    melds.append(html("span", "", " "));
  }
  melds.append(...scene.melds[p].map(meld));
  if (melds.childElementCount) parts.push(melds);
  const last = scene.discards[p].length - 1;
  const discards = html("div", "row discards", ...scene.discards[p].map(([kind, taken], i) => {
    const asked = scene.phase === "claim" && scene.question && scene.question[0] === p && i === last;
    return tile(kind, scene.caishen, taken, taken ? "gone" : asked ? "asked" : "");
  }));
  parts.push(discards);
  box.replaceChildren(...parts);
  box.classList.toggle("moves", p === scene.mover);
}

function drawCentre() {
  const { view } = at, scene = view.scene, lines = [];
  if (scene.caishen !== null) lines.push(html("span", "", `${word("caishen")} `, tile(scene.caishen, scene.caishen)));
  lines.push(html("span", "", `${word("wall")}: ${scene.remaining}`));
  lines.push(html("span", "", `${word("base")} ${view.stakes.ladder} · ${word("unit")} ${view.unit}`));
  if (scene.phase === "rob" && scene.question) lines.push(html("span", "", tile(scene.question[1], scene.caishen, false, "asked")));
  find("centre").replaceChildren(...lines);
}

// --- what this seat may do ---------------------------------------------------------------------------------------------

/** The question that waits for an answer, null when none does. */
function question() {
  const asked = at.view?.question ?? null;
  return asked === null || at.answered === asked.id ? null : asked;
}

function ownHand() {
  const { view } = at;
  return view.scene !== null && view.viewer !== null && Array.isArray(view.scene.hands[view.viewer]) ? view.scene.hands[view.viewer] : [];
}

function canDiscard(kind) {
  const asked = question();
  return asked !== null && asked.kind === "turn" && asked.legal.includes(kind);
}

/** Whether what an element shows is other than at the last call: one that stays is not touched, or clicks on it get lost. */
function changes(id, ...what) {
  const key = JSON.stringify([at.language, ...what]);
  const changed = at.drawn[id] !== key;
  at.drawn[id] = key;
  return changed;
}

function drawHand() {
  const { view } = at, asked = question(), hand = ownHand(), scene = view.scene;
  if (at.selected !== null && at.selected >= hand.length) at.selected = null;
  const drawn = scene.drawn && scene.mover === view.viewer;
  const legal = asked !== null && asked.kind === "turn" ? asked.legal : null;
  if (changes("hand", hand, drawn, legal, scene.caishen, asked?.forbidden)) {
    find("hand").replaceChildren(...hand.map((kind, i) => {
      const made = html("button", "tile", drawTile(kind, scene.caishen));
      made.type = "button";
      made.dataset.kind = kind;
      made.setAttribute("role", "option");
      made.setAttribute("aria-label", tileName(kind));
      made.classList.toggle("drawn", drawn && i === hand.length - 1);
      if (legal !== null && !legal.includes(kind)) {
        made.classList.add("dim");
        made.title = reason(kind);
        made.setAttribute("aria-disabled", "true");
      }
      return made;
    }));
  }
  [...find("hand").children].forEach((made, i) => {
    made.setAttribute("aria-selected", String(at.selected === i));
    made.classList.toggle("selected", at.selected === i);
    made.classList.toggle("hinted", at.hinted === hand[i]);
  });
}

function reason(kind) {
  return word("reasons")[question()?.forbidden[kind]] ?? "";
}

/** Why the selected tile may not be discarded; with none selected, why only winds may be. */
function reasonText() {
  const hand = ownHand();
  if (question()?.kind !== "turn") return "";
  if (at.selected !== null) return canDiscard(hand[at.selected]) ? "" : reason(hand[at.selected]);
  return hand.map(reason).find((text) => text !== "" && text !== word("reasons").caishen) ?? "";
}

/** The tiles of a chi of the tile in question: low, mid, high (0 to 2). */
function chiTiles(which) {
  const scene = at.view.scene, claimed = scene.question[1], caishen = scene.caishen;
  const real = claimed === WHITE && caishen !== WHITE ? caishen : claimed;
  return [0, 1, 2].map((i) => real - which + i).map((kind) => (kind === caishen ? WHITE : kind));
}

function choices() {
  const asked = question(), { view } = at, scene = view.scene;
  if (asked === null) return [];
  const made = [];
  for (const action of asked.legal) {
    if (action < GANG) continue;
    if (action < CHI_LOW) made.push([action, word("gang"), [action - GANG], "g"]);
    else if (action < PENG) made.push([action, word("chi")[action - CHI_LOW], chiTiles(action - CHI_LOW), String(action - CHI_LOW + 1)]);
    else if (action === PENG) made.push([action, word("peng"), Array(3).fill(scene.question[1]), "p"]);
    else if (action === GANG_CLAIM) made.push([action, word("gang"), Array(4).fill(scene.question[1]), "g"]);
    else if (action === HU) made.push([action, word("hu"), [], "h"]);
    else if (action === PASS) made.push([action, word(asked.kind === "stake" ? "no" : "cancel"), [], "Escape"]);
    else if (action === RAISE) made.push([action, word(view.viewer === scene.dealer ? "raiseBuy" : "raiseTop"), [], "b"]);
  }
  return made;
}

function drawActions() {
  const { view } = at, asked = question();
  const selected = at.selected === null ? null : ownHand()[at.selected];
  if (!changes("actions", asked, selected, at.hinted, view.scene.question, view.viewer)) return;
  const buttons = choices().map(([action, text, tiles]) => {
    const made = html("button", action === HU ? "hu" : action === PASS ? "" : "main", text, ...tiles.map((kind) => tile(kind, view.scene.caishen)));
    made.type = "button";
    made.dataset.action = action;
    if (at.hinted === action) made.classList.add("hinted");
    made.addEventListener("click", () => answer(action));
    return made;
  });
  if (asked !== null && at.selected !== null && canDiscard(ownHand()[at.selected])) {
    const kind = ownHand()[at.selected];
    const made = html("button", "main", word("discard"), tile(kind, view.scene.caishen));
    made.type = "button";
    made.id = "discard";
    made.addEventListener("click", () => answer(kind));
    buttons.push(made);
  }
  if (asked !== null) {
    const made = html("button", "", word("hint"));
    made.type = "button";
    made.id = "hint";
    made.addEventListener("click", askHint);
    buttons.push(made);
  }
  find("actions").replaceChildren(...buttons);
}

function askText() {
  const { view } = at, asked = question();
  if (view.viewer === null) return word("spectator");
  if (asked === null) return word("others");
  if (asked.kind === "stake") return word(view.viewer === view.scene.dealer ? "buy" : "top");
  if (asked.kind === "claim") return word(view.scene.phase === "rob" ? "rob" : "claim");
  return word(choices().length ? "turn" : "discardOnly");
}

/** The question in words, with the tile that it is about. */
function drawQuestion() {
  const { scene } = at.view;
  find("ask").textContent = askText();
  if (question()?.kind === "claim" && scene.question) find("ask").append(tile(scene.question[1], scene.caishen));
  find("reason").textContent = reasonText();
}

function drawNews() {
  const { view } = at, words = word("events");
  const said = view.events.filter((event) => event.type !== "draw").slice(matchMedia("(max-width: 700px)").matches ? -1 : -3).map((event) => {
    if (event.type === "end") return "";
    const what = event.type === "stake" ? words[event.raised ? "stakeYes" : "stakeNo"] : words[event.type];
    return `${nameOf(event.seat)} ${what ?? event.type}${Number.isInteger(event.tile) ? ` ${tileName(event.tile)}` : ""}`;
  });
  find("news").textContent = said.filter(Boolean).join(" · ");
}

// --- the settlement ----------------------------------------------------------------------------------------------------

function row(cells, head = false) {
  return html("tr", "", ...cells.map((text, i) => html(head ? "th" : "td", i ? "number" : "", String(text))));
}

function drawSettlement() {
  const { view } = at, end = view.played, names = view.seats.map((_, p) => nameOf(p)), zh = at.language === "zh";
  const parts = [];
  let title = word("drawnHand");
  if (end.left.length) title = `${end.left.map((p) => names[p]).join(", ")}: ${word("gone")}`;
  else if (end.winner !== null) {
    const source = end.loser === null ? word("byDraw") : zh ? `${names[end.loser]} ${word("from")}` : `${word("from")} ${names[end.loser]}`;
    title = `${names[end.winner]} ${word("wins")}, ${word("values")[end.value]}, ${source}`;
  }
  parts.push(html("h2", "", title));
  if (end.patterns.length) {
    parts.push(html("p", "patterns", end.patterns.map((name) => (zh ? PATTERNS_ZH[name] ?? name : name.toLowerCase().replaceAll("_", " "))).join(", ")));
  }
  const won = end.winner === null ? null : view.scene.hands[end.winner];
  if (Array.isArray(won)) {
    parts.push(html("div", "row", ...won.map((kind) => tile(kind, view.scene.caishen)), html("span", "", " "), ...view.scene.melds[end.winner].map(meld)));
  }
  const lines = html("table", "lines");
  for (const line of end.wins) {
    const factors = [`${view.unit}`, `${line.value}`, `${line.ladder}`];
    if (line.bought) factors.push(`2 (${word("bought")})`);
    if (line.topped) factors.push(`2 (${word("topped")})`);
    lines.append(row([`${names[line.payer]} ${word("pays")}: ${factors.join(" × ")}`, line.points]));
  }
  for (const line of end.caishen) {
    lines.append(row([`${names[line.seat]} ${word("takes")}: ${line.held} × ${word("caishenPoints")} ${line.points / line.held}`, line.points]));
  }
  for (const p of end.left) lines.append(row([`${names[p]} ${word("left")}`, -end.payments[p]]));
  if (end.house) lines.append(row([word("house"), end.house]));
  parts.push(lines);
  const sums = html("table", "sums", row(["", word("payment"), word("total")], true));
  names.forEach((name, p) => sums.append(row([name, signed(end.payments[p]), signed(view.seats[p].score)])));
  parts.push(sums);
  if (view.phase === "over") parts.push(html("p", "", word("over")));
  find("settled").replaceChildren(...parts);
  find("again").hidden = view.phase !== "over";
  find("continue").hidden = view.phase === "over" || view.viewer === null || view.seats[view.viewer].ready;
}

// --- everything --------------------------------------------------------------------------------------------------------

function show() {
  document.documentElement.lang = at.language === "zh" ? "zh-CN" : "en";
  document.title = word("title");
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
  find("language").textContent = word("language");
  find("sound").textContent = word(at.sound ? "soundOn" : "soundOff");
  find("sound").setAttribute("aria-pressed", String(at.sound));
  const { view } = at;
  find("lobby").hidden = at.table !== null;
  find("open").hidden = view === null || view.phase !== "open";
  find("table").hidden = view === null || view.scene === null;
  find("leave").hidden = view === null || view.viewer === null || view.phase === "over";
  find("where").textContent = view === null || view.phase === "open" ? "" : `${word("hand")} ${view.hand + 1} / ${view.hands}`;
  if (at.table === null) showLobby();
  if (view === null) return;
  if (view.phase === "open") showOpen();
  if (view.scene !== null) {
    for (const place of ["across", "left", "right", "own"]) find(`seat-${place}`).replaceChildren();
    find("board").classList.toggle("two", view.players === 2);
    view.seats.forEach((_, p) => drawSeat(p));
    drawCentre();
    drawHand();
    drawActions();
    drawNews();
    drawQuestion();
    find("hosting").hidden = view.viewer === null || !view.seats[view.viewer].hosted || view.phase === "over";
    document.querySelector(".help").hidden = view.viewer === null;
    find("table").dataset.phase = view.phase;
  }
  const panel = find("settlement"), settled = view.phase === "settled" || view.phase === "over";
  if (settled && view.played) {
    drawSettlement();
    if (!panel.open) panel.showModal();
  } else if (panel.open) panel.close();
  tick();
}

function showOpen() {
  const { view } = at;
  find("chairs").replaceChildren(...view.seats.map((seat, p) => {
    const text = seat.name === "" ? word("free") : nameOf(p);
    const made = html("li", "", text);
    if (seat.agent) made.append(" ", mark(word("agent"), true));
    if (p === view.viewer) made.append(` (${word("you")})`);
    if (seat.ready) made.append(" ", mark(word("isReady"), true));
    return made;
  }));
  find("link").value = `${location.origin}/t/${at.table}`;
  const mine = view.viewer !== null;
  find("join").hidden = mine || !view.seats.some((seat) => seat.name === "" && !seat.agent);
  find("start").hidden = !mine || view.seats[view.viewer].ready;
  find("waiting").hidden = !find("start").hidden || !find("join").hidden;
}

function showLobby() {
  if (at.options === null) return;
  const { players } = at.options, chosen = Number(find("players").value || 4);
  if (!find("players").options.length) find("players").append(...players.map((n) => new Option(String(n), String(n), n === 4, n === 4)));
  const before = [...find("others").querySelectorAll("select")].map((select) => select.value);
  find("others").replaceChildren(...Array.from({ length: chosen - 1 }, (_, i) => {
    const select = document.createElement("select");
    const fitting = at.options.agents.filter((spec) => (at.options.only[spec] ?? chosen) === chosen);
    select.append(...fitting.map((spec) => new Option(spec, spec)), new Option(word("person"), ""));
    if (before[i] === "" || fitting.includes(before[i])) select.value = before[i];
    select.dataset.seat = i + 1;
    return html("label", "", `${word("seat")} ${i + 1} `, select);
  }));
  find("hands").max = at.options.max_hands;
  find("entry").max = at.options.max_entry;
}

function tick() {
  const { view } = at;
  if (view === null) return;
  const passed = (performance.now() - at.heard) / 1000;
  const clock = find("clock");
  const left = question() !== null && at.seconds.question !== null ? Math.max(0, at.seconds.question - passed) : null;
  clock.textContent = left === null ? "" : String(Math.ceil(left));
  clock.classList.toggle("late", left !== null && left <= 5);
  if (!find("continue").hidden && view.phase === "settled" && at.seconds.pause !== null) {
    find("continue").textContent = `${word("goOn")} (${Math.ceil(Math.max(0, at.seconds.pause - passed))})`;
  }
}

function beep() {
  if (!at.sound) return;
  at.audio ??= new AudioContext();
  const tone = at.audio.createOscillator(), volume = at.audio.createGain();
  tone.frequency.value = 660;
  volume.gain.value = 0.05;
  tone.connect(volume).connect(at.audio.destination);
  tone.start();
  tone.stop(at.audio.currentTime + 0.12);
}

// --- talking -----------------------------------------------------------------------------------------------------------

function send(message) {
  if (at.socket?.readyState === WebSocket.OPEN) at.socket.send(JSON.stringify(message));
}

function answer(action) {
  const asked = question();
  if (asked === null || !asked.legal.includes(action)) return;
  at.answered = asked.id;
  at.selected = at.hinted = null;
  send({ type: "answer", id: asked.id, action });
  show();
}

function askHint() {
  if (question() !== null) send({ type: "hint", id: question().id });
}

function hear(message) {
  if (message.type === "view") {
    const before = at.view?.question?.id;
    at.view = message.view;
    at.seconds = message.seconds;
    at.heard = performance.now();
    find("problem").textContent = "";
    if (at.view.question !== null && at.view.question.id !== before) {
      at.selected = at.hinted = null;
      beep();
    }
  } else if (message.type === "hint" && message.id === question()?.id) {
    at.hinted = message.action;
  } else if (message.type === "refused") {
    if (message.id && message.id === at.answered) at.answered = null;
    find("problem").textContent = message.why;
  }
  show();
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}/ws`);
  at.socket = socket;
  socket.addEventListener("open", () => socket.send(JSON.stringify({ type: "hello", table: at.table, token: at.token })));
  socket.addEventListener("message", (event) => hear(JSON.parse(event.data)));
  socket.addEventListener("close", (event) => {
    if (socket !== at.socket) return;
    if (event.code === CODES.replaced) find("problem").textContent = word("replaced");
    else if (event.code === CODES.unknown) {
      if (at.token !== null) {
        forget();
        connect();
      } else {
        find("problem").textContent = word("unknown");
        find("back").hidden = false;
      }
    } else {
      at.answered = null;
      find("problem").textContent = word("lost");
      setTimeout(connect, RETRY);
    }
  });
}

const keyOf = (table) => `wzmj-seat-${table}`;

function forget() {
  localStorage.removeItem(keyOf(at.table));
  at.token = null;
}

function enter({ table, token }) {
  localStorage.setItem(keyOf(table), token);
  localStorage.setItem("wzmj-name", find("name").value || find("join-name").value);
  Object.assign(at, { table, token, view: null });
  if (location.pathname !== `/t/${table}`) history.pushState(null, "", `/t/${table}`);
  const old = at.socket;
  connect();
  old?.close();
  show();
}

async function post(path, body) {
  find("problem").textContent = "";
  try {
    const said = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    const message = await said.json();
    if (said.ok) enter(message);
    else find("problem").textContent = message.error;
  } catch {
    find("problem").textContent = word("lost");
  }
}

// --- what people do ----------------------------------------------------------------------------------------------------

function tileAt(event) {
  const button = event.target.closest("#hand button");
  return button === null ? null : [...find("hand").children].indexOf(button);
}

function select(i) {
  at.selected = i;
  show();
}

function tryDiscard(i) {
  const kind = ownHand()[i];
  if (canDiscard(kind)) answer(kind);
  else select(i);
}

find("hand").addEventListener("click", (event) => {
  const i = tileAt(event);
  if (i === null) return;
  if (event.pointerType === "touch" && at.selected === i) tryDiscard(i);
  else select(i);
});
find("hand").addEventListener("contextmenu", (event) => {
  const i = tileAt(event);
  event.preventDefault();
  if (i !== null && event.pointerType !== "touch") tryDiscard(i);
});
document.addEventListener("keydown", (event) => {
  if (at.view === null || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, dialog")) return;
  const hand = ownHand(), key = event.key;
  if ((key === "ArrowLeft" || key === "ArrowRight") && hand.length) {
    const from = at.selected ?? (key === "ArrowRight" ? -1 : hand.length);
    select((from + (key === "ArrowRight" ? 1 : -1) + hand.length) % hand.length);
  } else if ((key === "Enter" || key === " ") && at.selected !== null && !event.target.closest("#actions button, header button")) {
    tryDiscard(at.selected);
  } else if (key === "t" || key === "T") askHint();
  else {
    const found = choices().find(([, , , its]) => its === (key.length === 1 ? key.toLowerCase() : key));
    if (found === undefined) return;
    answer(found[0]);
  }
  event.preventDefault();
});
find("make").addEventListener("submit", (event) => {
  event.preventDefault();
  const others = [...find("others").querySelectorAll("select")].map((select) => select.value || null);
  post("/api/tables", {
    name: find("name").value, players: Number(find("players").value), hands: Number(find("hands").value), entry: Number(find("entry").value),
    agents: [null, ...others],
  });
});
find("join").addEventListener("submit", (event) => {
  event.preventDefault();
  post("/api/sit", { table: at.table, name: find("join-name").value, seat: null });
});
find("players").addEventListener("change", showLobby);
find("start").addEventListener("click", () => send({ type: "press" }));
find("continue").addEventListener("click", () => send({ type: "press" }));
find("again").addEventListener("click", () => { location.href = "/"; });
find("cancel-hosting").addEventListener("click", () => send({ type: "cancel_hosting" }));
find("link").addEventListener("focus", () => find("link").select());
find("leave").addEventListener("click", () => {
  const { view } = at;
  const charge = view.phase === "open" ? 0 : view.unit * (view.stakes?.ladder ?? 1) * LEAVING;
  find("leaving-text").textContent = charge ? word("leavingText")(charge) : word("leavingFree");
  find("leaving").showModal();
});
find("leave-yes").addEventListener("click", () => {
  find("leaving").close();
  send({ type: "leave" });
  if (at.view.phase === "open") {
    forget();
    location.href = "/";
  }
});
find("leave-no").addEventListener("click", () => find("leaving").close());
find("settlement").addEventListener("cancel", (event) => event.preventDefault());
find("language").addEventListener("click", () => {
  at.language = at.language === "en" ? "zh" : "en";
  localStorage.setItem("wzmj-language", at.language);
  show();
});
find("sound").addEventListener("click", () => {
  at.sound = !at.sound;
  show();
});
window.addEventListener("popstate", () => location.reload());

const known = localStorage.getItem("wzmj-language");
if (known === "zh" || (known === null && navigator.language.startsWith("zh"))) at.language = "zh";
find("name").value = find("join-name").value = localStorage.getItem("wzmj-name") ?? "";
setInterval(tick, 250);
const path = location.pathname.match(/^\/t\/([0-9a-f]+)$/);
if (path !== null) {
  at.table = path[1];
  at.token = localStorage.getItem(keyOf(at.table));
  connect();
} else {
  fetch("/api/options").then((said) => said.json()).then((options) => {
    at.options = options;
    show();
  });
}
show();
