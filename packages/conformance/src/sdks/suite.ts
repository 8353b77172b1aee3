import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import { type Format, fullRun, formats as upstreams } from '../base/recorded-traffic.ts'
import { parsingServers, servers } from '../base/servers.ts'
import { type Case, createSetting, type Setting } from './context.ts'
import { endingCases } from './finish-cases.ts'
import { mediaCases } from './media-cases.ts'
import { thinkingCases } from './thinking-cases.ts'

/** OpenAI's current models: one of each way to refuse. */
const currentModels = ['gpt-6-astra', 'gpt-6-sol', 'gpt-5.6-terra', 'gpt-5.4', 'gpt-5.2-codex', 'o3']

const all = [...servers, ...parsingServers]
/** On these servers each case runs with upstreams of every format. */
const withEveryUpstream = new Set(fullRun ? ['node:http', 'in process'] : ['in process'])

/**
 * The cases for a server and an upstream. No server reads what depends on the upstream's format, so the other servers run each
 * case with one upstream, which rotates with the case. Rare cases do not depend on the server at all.
 */
const casesOn = (cases: readonly Case[], server: number, upstream: number): readonly Case[] =>
  withEveryUpstream.has(all[server]?.name ?? '')
    ? cases
    : cases.filter(({ rare }, at) => rare !== true && (at + server) % upstreams.length === upstream)

/**
 * One official client on every server: its own cases, and the conversations that all clients hold. A file for each client, so that they run side by side. Returns what can be said when all is done.
 */
export function runSuite(name: string, client: Format, own: readonly Case[]): () => string {
  const cases = [...own, ...thinkingCases(client), ...endingCases(client), ...mediaCases(client)]
  let passed = 0
  for (const [serverAt, server] of all.entries())
    describe.each(upstreams)(`${name} on ${server.name}, upstream %s`, (upstream) => {
      let setting: Setting
      beforeAll(async () => {
        setting = await createSetting(server, upstream)
      })
      afterAll(() => setting.close())
      // State left at the upstream would confuse the next case.
      afterEach(() => setting.fake.reset())

      test.each(casesOn(cases, serverAt, upstreams.indexOf(upstream)))('$name', async ({ run }) => {
        await run(setting)
        passed++
      })
    })
  return () => `sdk: ${name}: ${passed} cases passed, ${all.length} servers × ${upstreams.length} formats`
}

/** The same cases against OpenAI's current models, with a fake provider that refuses what each of them refuses. */
export function runCurrentModels(name: string, client: Format, own: readonly Case[]): void {
  const cases = [...own, ...thinkingCases(client), ...endingCases(client), ...mediaCases(client)]
  const [server] = all.filter(({ name }) => name === 'in process')
  if (server === undefined) throw new Error('no server in process')
  describe.each(currentModels)(`${name}, upstream responses of OpenAI, model %s`, (model) => {
    // Without MODELGATE_FULL=1 each case runs with every second model, in turn.
    const turn = currentModels.indexOf(model) % 2
    let setting: Setting
    beforeAll(async () => {
      setting = await createSetting(server, 'responses', model)
    })
    afterAll(() => setting.close())
    afterEach(() => setting.fake.reset())

    test.each(cases.filter((_, at) => fullRun || at % 2 === turn))('$name', ({ run }) => run(setting))
  })
}
