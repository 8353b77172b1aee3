// `npm start`: set-up, then the example server in this same process. package.json starts it with `exec` (and without where
// the shell has none, as on Windows): a shell in between would die of npm's SIGTERM and leave the server behind.
import './setup.mjs'

await import('../examples/server/server.js')
