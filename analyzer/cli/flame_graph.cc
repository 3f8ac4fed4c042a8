// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/flame_graph.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/output_file.h"

namespace anttracks::analyzer {
namespace {

constexpr uint64_t kPartsShown = 10'000;

// The page begins with this, by which it is known again.
constexpr std::string_view kBegin = "<!DOCTYPE html>\n<!-- AntTracks flame graph -->\n";

constexpr std::string_view kHead = R"html(<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>AntTracks flame graph</title>
<style>
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1b1b; --line: #8a8a8a; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181c; --ink: #e8e8e8; --line: #777; } }
body { margin: 1rem; background: var(--paper); color: var(--ink); font: 14px/1.4 system-ui, sans-serif; }
h1 { font-size: 1.1rem; margin: 0; }
pre { margin: .5rem 0; white-space: pre-wrap; font: inherit; }
form { display: flex; gap: .5rem; flex-wrap: wrap; align-items: center; margin: .5rem 0; }
input, button { font: inherit; }
#detail { min-height: 4.2em; overflow-wrap: anywhere; }
#box { max-height: 80vh; overflow-y: auto; position: relative; }
canvas { display: block; position: sticky; top: 0; width: 100%; outline-offset: -2px; }
</style>
<h1>AntTracks flame graph</h1>
<pre id="heading"></pre>
<form id="form">
<label for="search">Find calls with</label> <input id="search" type="search" autocomplete="off" spellcheck="false">
<button type="button" id="reset">Whole graph</button> <span id="found" role="status"></span>
</form>
<div id="box"><canvas id="graph" tabindex="0" role="application" aria-label="Flame graph. Arrow keys: go to caller, callee or neighbour. Enter: make the call as wide as the page. Escape: whole graph." aria-describedby="detail"></canvas><div id="rest"></div></div>
<div id="detail" aria-live="polite"></div>
<script type="application/json" id="data">)html";

// Nodes are in pre-order: [depth, name, bytes, objects, ...]. A call's width is its share of the bytes of the
// call that is zoomed to.
constexpr std::string_view kScript = R"html(</script>
<script>
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const nodes = [], rowHeight = 20;
let deepest = 0;
for (let i = 0, open = []; i < data.nodes.length; i += 4) {
  const [depth, name, bytes, objects] = data.nodes.slice(i, i + 4);
  open.length = depth;
  const parent = depth ? open[depth - 1] : null;
  const node = {depth, name: data.names[name], bytes, objects, parent, children: [], left: 0};
  node.left = parent ? parent.left + parent.children.reduce((sum, child) => sum + child.bytes, 0) : 0;
  if (parent) parent.children.push(node);
  open[depth] = node;
  nodes.push(node);
  deepest = Math.max(deepest, depth);
}
const root = nodes[0], canvas = document.getElementById('graph'), detail = document.getElementById('detail');
const box = document.getElementById('box'), rest = document.getElementById('rest');
const found = document.getElementById('found'), search = document.getElementById('search');
document.getElementById('heading').textContent = data.heading;
let zoom = root, chosen = root, wanted = '';

const matches = node => wanted !== '' && node.name.toLowerCase().includes(wanted);
const percent = (part, whole) => whole ? (100 * part / whole).toFixed(2) + ' %' : '-';
function hue(name) {
  let sum = 0;
  for (const c of name.replace(/\(.*/, '')) sum = (sum * 31 + c.charCodeAt(0)) % 997;
  return 18 + sum % 40;
}
function isAbove(node, other) {
  return node.depth <= other.depth && node.left <= other.left && other.left + other.bytes <= node.left + node.bytes;
}
function place(node) {
  const width = canvas.clientWidth, scale = zoom.bytes ? width / zoom.bytes : 0;
  if (isAbove(node, zoom)) return {x: 0, w: width};
  const x = (node.left - zoom.left) * scale;
  return {x, w: isAbove(zoom, node) ? node.bytes * scale : 0};
}
function draw() {
  const ratio = window.devicePixelRatio || 1, dark = matchMedia('(prefers-color-scheme: dark)').matches;
  // Only what is in sight is drawn: a canvas cannot be as high as deep stacks.
  const all = (deepest + 1) * rowHeight, height = Math.min(all, window.innerHeight * .8), top = box.scrollTop;
  canvas.style.height = height + 'px';
  rest.style.height = all - height + 'px';
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = height * ratio;
  const c = canvas.getContext('2d');
  c.scale(ratio, ratio);
  c.font = '12px system-ui, sans-serif';
  c.textBaseline = 'middle';
  for (const node of nodes) {
    const y = node.depth * rowHeight - top, hit = matches(node);
    if (y + rowHeight < 0 || y > height) continue;
    const {x, w} = place(node);
    if (w < .5 || x + w < 0) continue;
    c.fillStyle = hit ? (dark ? '#8a4fd0' : '#c9a2ff') : `hsl(${hue(node.name)} 70% ${dark ? 30 : 75}%)`;
    c.fillRect(x, y, Math.max(w - 1, .5), rowHeight - 1);
    if (hit) { c.fillStyle = dark ? '#fff' : '#000'; c.fillRect(x, y + rowHeight - 4, Math.max(w - 1, .5), 3); }
    if (node === chosen) {
      c.strokeStyle = dark ? '#fff' : '#000';
      c.lineWidth = 2;
      c.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), rowHeight - 3);
    }
    if (w < 30) continue;
    c.save();
    c.beginPath();
    c.rect(x, y, w - 3, rowHeight);
    c.clip();
    c.fillStyle = dark ? '#fff' : '#000';
    c.fillText(node.name, x + 4, y + rowHeight / 2);
    c.restore();
  }
}
function choose(node) {
  chosen = node;
  detail.textContent = `${node.name}: ${node.bytes.toLocaleString('en')} bytes (${percent(node.bytes, root.bytes)}), ` +
    `${node.objects.toLocaleString('en')} objects`;
  draw();
}
function zoomTo(node) { zoom = node; choose(node); }
function nodeAt(event) {
  const at = canvas.getBoundingClientRect(), px = event.clientX - at.left;
  const depth = Math.floor((event.clientY - at.top + box.scrollTop) / rowHeight);
  return nodes.find(node => {
    if (node.depth !== depth) return false;
    const {x, w} = place(node);
    return px >= x && px < x + w;
  });
}
function neighbour(node, step) {
  const row = node.parent ? node.parent.children : [node];
  return row[row.indexOf(node) + step];
}
canvas.addEventListener('mousemove', event => { const node = nodeAt(event); if (node && node !== chosen) choose(node); });
canvas.addEventListener('click', event => { const node = nodeAt(event); if (node) zoomTo(node); });
canvas.addEventListener('keydown', event => {
  const to = {ArrowUp: chosen.parent, ArrowDown: chosen.children[0], ArrowLeft: neighbour(chosen, -1),
    ArrowRight: neighbour(chosen, 1)}[event.key];
  if (to) {
    const y = to.depth * rowHeight;
    if (y < box.scrollTop || y + rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = y - rowHeight;
    choose(to);
  }
  else if (event.key === 'Enter') zoomTo(chosen);
  else if (event.key === 'Escape') zoomTo(root);
  else if (!event.key.startsWith('Arrow')) return;
  event.preventDefault();
});
document.getElementById('reset').addEventListener('click', () => zoomTo(root));
document.getElementById('form').addEventListener('submit', event => event.preventDefault());
search.addEventListener('input', () => {
  wanted = search.value.toLowerCase();
  let bytes = 0, end = -1;
  for (const node of nodes) {
    if (!matches(node) || node.left < end) continue;
    bytes += node.bytes;
    end = node.left + node.bytes;
  }
  found.textContent = wanted === '' ? '' : percent(bytes, root.bytes) + ' of the bytes';
  draw();
});
window.addEventListener('resize', draw);
box.addEventListener('scroll', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
choose(root);
</script>
</html>
)html";

struct Data {
  nlohmann::json nodes = nlohmann::json::array(), names = nlohmann::json::array();
};

Data DataOf(const CallTree& tree) {
  Data data;
  std::unordered_map<std::string_view, size_t> numbers;
  const uint64_t least = tree[CallTree::kRoot].totals.bytes / kPartsShown;
  std::vector<std::pair<uint32_t, uint64_t>> open{{CallTree::kRoot, 0}};  // node and depth
  while (!open.empty()) {
    const auto [node, depth] = open.back();
    open.pop_back();
    const CallTree::Node& at = tree[node];
    const std::string_view name = node == CallTree::kRoot ? "all" : tree.name(node);
    const auto [number, is_new] = numbers.try_emplace(name, data.names.size());
    if (is_new) data.names.push_back(name);
    for (const uint64_t value : {depth, uint64_t{number->second}, at.totals.bytes, at.totals.objects})
      data.nodes.push_back(value);
    for (size_t i = at.children.size(); i-- > 0;) {
      if (tree[at.children[i]].totals.bytes > least) open.emplace_back(at.children[i], depth + 1);
    }
  }
  return data;
}

bool IsFlameGraph(std::span<const uint8_t> start) {
  return start.size() >= kBegin.size() &&
         std::equal(kBegin.begin(), kBegin.end(), start.begin(),
                    [](char a, uint8_t b) { return a == static_cast<char>(b); });
}

}  // namespace

std::string FlameGraphHtml(const CallTree& tree, std::string_view heading) {
  Data data = DataOf(tree);
  const nlohmann::json json{
      {"heading", heading}, {"names", std::move(data.names)}, {"nodes", std::move(data.nodes)}};
  // Names may be broken UTF-8, and must not end the script.
  std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t at = text.find("</"); at != std::string::npos; at = text.find("</", at))
    text.replace(at, 2, "<\\/");
  for (size_t at = text.find("<!--"); at != std::string::npos; at = text.find("<!--", at))
    text.replace(at, 4, "\\u003c!--");
  return std::string(kBegin) + std::string(kHead) + text + std::string(kScript);
}

trace::Status WriteFlameGraph(const CallTree& tree, std::string_view heading, const std::string& path,
                              Replace replace) {
  using trace::Status;
  std::error_code error;
  if (const std::string what = trace::WhyNotReplaced(path, &IsFlameGraph); !what.empty())
    return Status::Error(path + " is " + what + ", not a flame graph: give another name, or remove it");
  if (replace == Replace::kNo && std::filesystem::exists(path, error))
    return Status::Error(path + " exists already; -f replaces it");
  const std::string page = FlameGraphHtml(tree, heading);
  const int failed = trace::WriteWhole(path, {reinterpret_cast<const uint8_t*>(page.data()), page.size()});
  if (failed == 0) return {};
  return Status::Error("cannot write " + path + ": " + std::generic_category().message(failed));
}

}  // namespace anttracks::analyzer
