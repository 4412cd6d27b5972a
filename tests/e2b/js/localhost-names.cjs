// Node asks the system for names, and not every system knows that all below `localhost` is this machine (RFC 6761).
const dns = require('node:dns')
const ask = dns.lookup

dns.lookup = (name, options, callback) => {
  if (!name.endsWith('.localhost')) return ask(name, options, callback)
  const answer = callback ?? options
  const wantsAll = callback !== undefined && options.all
  process.nextTick(() => (wantsAll ? answer(null, [{ address: '127.0.0.1', family: 4 }]) : answer(null, '127.0.0.1', 4)))
}
