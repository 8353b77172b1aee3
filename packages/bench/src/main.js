// `pnpm bench`, in one go: the gateway on Node against a bare proxy, then the codecs alone against JSON.parse and
// JSON.stringify. Prints ratios; with --check a missed bar fails.
//   BENCH_ONLY  part of a case's name; `codecs` for all codecs, `codecs: chat → gemini` for one pair of them
//               `tokens` for the check of a token and of its limits
//   BENCH_ROUNDS (3)  BENCH_SECONDS (2)  BENCH_CONNECTIONS (32)  of the proxies
//   BENCH_CODEC_ROUNDS (15)  BENCH_CODEC_SLICE (5, milliseconds)  of the codecs
//   --profile  writes a CPU profile of the gateway to packages/bench/profiles and prints its top costs
import { parseArgs } from 'node:util'
import { cases } from './cases.js'
import { benchCodecs, codecPairs } from './codecs.js'
import { benchProxies } from './proxies.js'
import { benchTokens, tokensName } from './tokens.js'

const { values: flags } = parseArgs({ options: { check: { type: 'boolean' }, profile: { type: 'boolean' } } })
const only = process.env.BENCH_ONLY ?? ''

const chosenCases = cases.filter(({ name }) => name.includes(only))
const chosenPairs = codecPairs.filter(({ name }) => name.includes(only))
const withTokens = tokensName.includes(only)
if (chosenCases.length + chosenPairs.length === 0 && !withTokens)
  throw new Error(`no case's name holds BENCH_ONLY='${only}'`)

let missed = 0
if (chosenCases.length > 0) missed += await benchProxies(chosenCases, flags.profile === true)
if (chosenPairs.length > 0) missed += await benchCodecs(chosenPairs)
if (withTokens) missed += await benchTokens()
process.exitCode = flags.check && missed > 0 ? 1 : 0
