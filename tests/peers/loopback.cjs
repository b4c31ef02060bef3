// node --require: a server that has no option for its host listens on this machine only.
const { Server } = require("node:net");
const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  const hosted = typeof rest[0] === "string" || typeof port === "object";
  return hosted ? listen.call(this, port, ...rest) : listen.call(this, port, "127.0.0.1", ...rest);
};
