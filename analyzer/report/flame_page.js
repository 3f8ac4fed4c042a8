'use strict';

// The page of `tree --flame`. Nodes are in pre-order: [depth, name, bytes, objects, ...].
const data = JSON.parse(document.getElementById('data').textContent);
const nodes = [];
for (let i = 0, open = []; i < data.nodes.length; i += 4) {
  const [depth, name, bytes, objects] = data.nodes.slice(i, i + 4);
  open.length = depth;
  const parent = depth ? open[depth - 1] : null;
  const node = {depth, name: data.names[name], value: bytes, bytes, objects, parent, left: 0, taken: 0};
  if (parent) {
    node.left = parent.left + parent.taken;
    parent.taken += bytes;
  }
  open[depth] = node;
  nodes.push(node);
}
document.getElementById('heading').textContent = data.heading;
new FlameGraph(document.getElementById('graph'), 'Flame graph').show(nodes);
