// `npm start`: set-up, then `modelgate` with the example server's configuration in this same process. package.json starts it with
// `exec` (and without where the shell has none, as on Windows): a shell in between would die of npm's SIGTERM and leave the
// server behind.
import './setup.mjs'

process.argv = [
  process.argv[0] ?? 'node',
  'packages/cli/bin/modelgate.js',
  'start',
  '--config',
  'examples/server/modelgate.config.js',
]
// By its address: there is nothing to look at before it is built.
await import(new URL('../packages/cli/bin/modelgate.js', import.meta.url).href)
