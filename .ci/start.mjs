// `npm start`: set-up, then the example server in this same process, so that npm's signals reach it.
import './setup.mjs'

await import('../examples/server/server.js')
