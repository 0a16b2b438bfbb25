// node's http module as a peer: plain text and JSON.
//
//     node http.js PORT
"use strict";

const http = require("http");

const server = http.createServer((request, answer) => {
  const json = request.url === "/json";
  const text = json ? JSON.stringify({ message: "Hello, World!" }) : "Hello, World!";
  answer.writeHead(200, {
    "Content-Type": json ? "application/json" : "text/plain",
    "Content-Length": Buffer.byteLength(text),
  });
  answer.end(text);
});

server.keepAliveTimeout = 75000; // it is five seconds otherwise
server.listen(Number(process.argv[2]), "127.0.0.1", 4096);
