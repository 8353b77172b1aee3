// In a fresh process: milliseconds to import what is named; for core, to make a gateway with it, too, and then to have it
// translate a first call, for which it loads what it did not load before.
import process from 'node:process'

const [what = ''] = process.argv.slice(2)
const started = performance.now()
const loaded = await import(what)
if ('createGateway' in loaded) {
  const { anthropic, createGateway, gemini, openai } = loaded
  const apiKey = 'upstream-key'
  createGateway({
    auth: () => ({ id: 'bench' }),
    upstreams: { openai: openai({ apiKey }), claude: anthropic({ apiKey }), google: gemini({ apiKey }) },
    models: { 'gpt-*': 'openai', 'claude-*': 'claude', 'gemini-*': 'google' },
  })
}
const ready = performance.now() - started
let firstCall = 0
if ('createGateway' in loaded) {
  const [{ exchanges }, { callOf }] = await Promise.all([import('./exchanges.js'), import('./in-process.js')])
  const exchange = exchanges['chat → messages, JSON']
  if (exchange === undefined) throw new Error('there is no such exchange')
  const called = performance.now()
  // It calls once, to look at the answer.
  await callOf(exchange)
  firstCall = performance.now() - called
}
process.stdout.write(JSON.stringify({ ready, firstCall }))
