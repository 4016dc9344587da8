// What the script of every page starts with. Texts are only ever set as text.
"use strict";
const find = (id) => document.getElementById(id);
const make = (name, text, look) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (look) made.className = look;
  return made;
};
const unpack = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
};
