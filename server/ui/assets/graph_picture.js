// The whole vault on a canvas. Links take long to draw, so they are drawn on a sheet wider than what is seen, a part each
// frame, and moving about moves the finished sheet. WebGL is not used: without a graphics card browsers have none, or a slow
// one (sigma 3 showed 60,000 links after 7 s, 0.4 times a second; this is measured in docs/console.md).
"use strict";
const makeGraphPicture = (canvas, data, look) => {
  const MARGIN = 0.35, NEAR = 12, LABELS = 24, CELL = 400;
  const { x, y, links } = data, count = x.length, pen = canvas.getContext("2d");
  const degree = x.map((_, i) => data.into[i] + data.out[i]);
  const most = degree.reduce((top, each) => Math.max(top, each), 12);
  const view = { x: 0, y: 0, scale: 1 };
  let sheet = null, painting = null, spare = null, portion = 6000, last = 0, asked = false, seen = "", dense = 1, wide = 1, high = 1;
  let marks = { picked: -1, hovered: -1, way: [], found: [] };

  const near = Array.from({ length: count }, () => []);
  for (let k = 0; k < links.length; k += 2) { near[links[k]].push(links[k + 1]); near[links[k + 1]].push(links[k]); }
  const cells = new Map();
  for (let i = 0; i < count; i++) {
    const cell = `${Math.floor(x[i] / CELL)} ${Math.floor(y[i] / CELL)}`;
    if (cells.has(cell)) cells.get(cell).push(i); else cells.set(cell, [i]);
  }

  const radius = (i, scale) => Math.max(1.1, Math.min(5 + 12 * Math.sqrt(degree[i] / most), scale * (24 + 90 * Math.sqrt(degree[i] / most))));
  const at = (i) => [(x[i] - view.x) * view.scale + wide / 2, (y[i] - view.y) * view.scale + high / 2];
  const edges = { left: 0, right: 0, top: 0, low: 0 };
  for (let i = 0; i < count; i++) {
    edges.left = Math.min(edges.left, x[i]); edges.right = Math.max(edges.right, x[i]);
    edges.top = Math.min(edges.top, y[i]); edges.low = Math.max(edges.low, y[i]);
  }
  // The scale at which everything is seen, and a handful of notes do not stand too far apart.
  const smallest = () => Math.min(1.2, (wide - 60) / (edges.right - edges.left + 1), (high - 60) / (edges.low - edges.top + 1));

  const write = (to, text, px, py, placed) => {
    const shown = text.length > 42 ? `${text.slice(0, 40)}…` : text, half = to.measureText(shown).width / 2;
    const box = [px - half - 3, py - 2, px + half + 3, py + 14];
    if (placed.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) return false;
    placed.push(box);
    to.strokeText(shown, px, py);
    to.fillText(shown, px, py);
    return true;
  };
  const prepare = (to) => {
    Object.assign(to, { font: "12px system-ui, sans-serif", textAlign: "center", textBaseline: "top", lineWidth: 3, lineJoin: "round", direction: "ltr" });
    [to.strokeStyle, to.fillStyle] = [look.paper, look.ink];
  };
  const dot = (to, px, py, r) => {
    if (r < 1.6) { to.fillRect(px - r, py - r, 2 * r, 2 * r); return; }
    to.beginPath(); to.arc(px, py, r, 0, 7); to.fill();
  };

  // A sheet in portions: after each of them the browser may draw a frame.
  function* paint(made) {
    const { width, height, scale } = made, to = made.canvas.getContext("2d");
    const px = new Float32Array(count), py = new Float32Array(count);
    for (let i = 0; i < count; i++) { px[i] = (x[i] - made.x) * scale + width / 2; py[i] = (y[i] - made.y) * scale + height / 2; }
    to.scale(dense, dense);
    to.strokeStyle = look.line;
    to.lineWidth = 1 / dense;
    to.globalAlpha = Math.min(1, 0.02 + scale + 300 / (links.length + 400));
    let room = portion, drawn = 0;
    to.beginPath();
    for (let k = 0; k < links.length; k += 2) {
      const a = links[k], b = links[k + 1];
      if ((px[a] < 0 && px[b] < 0) || (py[a] < 0 && py[b] < 0) || (px[a] > width && px[b] > width) || (py[a] > height && py[b] > height)) continue;
      to.moveTo(px[a], py[a]);
      to.lineTo(px[b], py[b]);
      if (++drawn % 200 === 0) { to.stroke(); to.beginPath(); }
      if (--room <= 0) { to.stroke(); to.beginPath(); yield; room = portion; }
    }
    to.stroke();
    to.globalAlpha = 1;
    for (let i = count - 1; i >= 0; i--) {
      if (px[i] < -20 || py[i] < -20 || px[i] > width + 20 || py[i] > height + 20) continue;
      to.fillStyle = look.colour(i);
      dot(to, px[i], py[i], radius(i, scale));
      if ((room -= 2) <= 0) { yield; room = portion; }
    }
    prepare(to);
    const placed = [];
    for (let i = 0, tried = 0; i < count && tried < 4 * LABELS && placed.length < LABELS; i++) {
      if (px[i] < 0 || py[i] < 0 || px[i] > width || py[i] > height || !look.isShown(i)) continue;
      tried++;
      write(to, data.titles[i], px[i], py[i] + radius(i, scale) + 2, placed);
    }
  }

  const begin = () => {
    const width = Math.ceil(wide * (1 + 2 * MARGIN)), height = Math.ceil(high * (1 + 2 * MARGIN));
    const paper = painting?.made.canvas || spare || document.createElement("canvas");
    spare = null;
    [paper.width, paper.height] = [width * dense, height * dense]; // which clears it
    const made = { x: view.x, y: view.y, scale: view.scale, width, height, canvas: paper };
    painting = { made, steps: paint(made) };
  };
  const isStale = (made) => {
    const [right, down] = [Math.abs(view.x - made.x) * view.scale, Math.abs(view.y - made.y) * view.scale];
    return made.scale !== view.scale || right > wide * MARGIN * 0.7 || down > high * MARGIN * 0.7;
  };

  const frame = (now) => {
    asked = false;
    const took = now - last;
    last = now;
    const rests = seen === `${view.x} ${view.y} ${view.scale}`;
    seen = `${view.x} ${view.y} ${view.scale}`;
    if (painting && took < 200) portion = Math.max(2000, Math.min(12000, portion * (took > 24 ? 0.7 : 1.2)));
    if (rests) portion = 20000; // nothing moves that could stutter
    if (painting ? rests && isStale(painting.made) : !sheet || isStale(sheet)) begin();
    if (painting && painting.steps.next().done) {
      spare = sheet?.canvas || null;
      [sheet, painting] = [painting.made, null];
      canvas.dataset.drawn ??= String(Math.round(now)); // for those who measure it
    }
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, wide, high);
    const shown = sheet || painting?.made;
    if (shown) {
      const k = view.scale / shown.scale;
      pen.globalAlpha = marks.picked >= 0 || marks.way.length || marks.found.length ? 0.3 : 1;
      const [width, height] = [k * shown.width, k * shown.height];
      const [right, down] = [(shown.x - view.x) * view.scale, (shown.y - view.y) * view.scale];
      pen.drawImage(shown.canvas, right + (wide - width) / 2, down + (high - height) / 2, width, height);
      pen.globalAlpha = 1;
    }
    mark();
    if (painting || (sheet && isStale(sheet))) ask();
  };
  const ask = () => { if (!asked) { asked = true; requestAnimationFrame(frame); } };

  // What is picked, found or on the way, above the rest.
  const mark = () => {
    const { picked, hovered, way, found } = marks, about = picked >= 0 && !way.length ? near[picked].slice(0, 3000) : [];
    pen.strokeStyle = look.act;
    pen.lineWidth = way.length ? 3 : 1;
    pen.beginPath();
    for (const other of about) { pen.moveTo(...at(picked)); pen.lineTo(...at(other)); }
    way.forEach((i, step) => (step ? pen.lineTo(...at(i)) : pen.moveTo(...at(i))));
    pen.stroke();
    const named = [...new Set([hovered, picked, ...way, ...found.slice(0, LABELS), ...about.slice(0, 15)])].filter((i) => i >= 0);
    for (const i of new Set([...about, ...found, ...named])) {
      pen.fillStyle = look.colour(i);
      dot(pen, ...at(i), Math.max(3, radius(i, view.scale)));
    }
    for (const i of [hovered, picked]) {
      if (i < 0) continue;
      pen.lineWidth = 2.5;
      pen.strokeStyle = look.ink;
      pen.beginPath(); pen.arc(...at(i), radius(i, view.scale) + 4, 0, 7); pen.stroke();
    }
    prepare(pen);
    const placed = [];
    for (const i of named) { const [px, py] = at(i); write(pen, data.titles[i], px, py + radius(i, view.scale) + 5, placed); }
  };

  const hold = (value, least, top) => Math.max(least, Math.min(top, value));
  return {
    near,
    degree,
    resize() {
      const now = [canvas.clientWidth, canvas.clientHeight, Math.min(2, devicePixelRatio || 1)], had = wide > 1;
      if (now.join() === [wide, high, dense].join()) return;
      [wide, high, dense] = now;
      [canvas.width, canvas.height] = [wide * dense, high * dense];
      if (!had) this.fit();
      this.repaint();
    },
    fit() { Object.assign(view, { x: (edges.left + edges.right) / 2, y: (edges.top + edges.low) / 2, scale: smallest() }); ask(); },
    pan(right, down) { view.x += right / view.scale; view.y += down / view.scale; ask(); },
    zoom(factor, px = wide / 2, py = high / 2) {
      const scale = hold(view.scale * factor, smallest() / 2, 3), [right, down] = [px - wide / 2, py - high / 2];
      view.x += right / view.scale - right / scale;
      view.y += down / view.scale - down / scale;
      view.scale = scale;
      ask();
    },
    centre(several) {
      const across = several.map((i) => x[i]).sort((a, b) => a - b), along = several.map((i) => y[i]).sort((a, b) => a - b);
      const [left, right, top, low] = [across[0], across.at(-1), along[0], along.at(-1)];
      const fits = Math.min(0.25, wide / (right - left + 800), high / (low - top + 800));
      const scale = several.length > 1 ? fits : Math.max(view.scale, fits);
      Object.assign(view, { x: (left + right) / 2, y: (top + low) / 2, scale });
      ask();
    },
    pick(px, py) {
      const [mx, my, reach] = [(px - wide / 2) / view.scale + view.x, (py - high / 2) / view.scale + view.y, NEAR / view.scale];
      let best = -1, far = Infinity;
      for (let cx = Math.floor((mx - reach) / CELL); cx <= Math.floor((mx + reach) / CELL); cx++) {
        for (let cy = Math.floor((my - reach) / CELL); cy <= Math.floor((my + reach) / CELL); cy++) {
          for (const i of cells.get(`${cx} ${cy}`) || []) {
            const away = Math.hypot(x[i] - mx, y[i] - my) - radius(i, view.scale) / view.scale;
            if (away < Math.min(far, reach)) [best, far] = [i, away];
          }
        }
      }
      return best;
    },
    show(changed) { marks = { ...marks, ...changed }; ask(); },
    repaint() { begin(); ask(); },
  };
};
