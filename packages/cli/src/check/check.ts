import { createGateway } from '@modelgate/core'
import { flag, noWords, readArgs, text, textOf } from '../args.ts'
import { readSettings, type Settings } from '../config/settings.ts'
import { targetsOf } from '../config/targets.ts'
import { inFile, problemsOf, UsageError } from '../errors.ts'
import { nearest } from '../near.ts'
import type { World } from '../world.ts'
import { type Answer, askUpstream } from './ask.ts'
import { type CheckReport, reportText } from './report-text.ts'

/** `modelgate check`: whether the configuration can be, and whether its upstreams answer. */
export async function check(args: string[], world: World): Promise<number> {
  const { values, words } = readArgs(args, { config: text, timeout: text, json: flag }, 'check')
  noWords(words, 'check')
  const timeoutMs = Number(values.timeout ?? 10) * 1000
  if (!(timeoutMs > 0 && timeoutMs <= 2 ** 31 - 1))
    throw new UsageError(`--timeout is '${String(values.timeout)}': give it seconds, more than 0`, 'check')
  const report = await reportOf(world, textOf(values.config), timeoutMs)
  world.out(values.json === true ? JSON.stringify(report, null, 2) : reportText(report))
  return report.ok ? 0 : 1
}

async function reportOf(world: World, config: string | undefined, timeoutMs: number): Promise<CheckReport> {
  let settings: Settings
  try {
    settings = await readSettings(world, { config }, 'nothing')
  } catch (error) {
    return { ok: false, config: config ?? '', error: problemsOf(error).join('\n'), upstreams: [], warnings: [] }
  }
  const where = settings.file ?? 'the environment'
  try {
    // It looks at all of it, and calls nobody.
    await createGateway({ ...settings.gateway, plugins: [] }).close()
    return await asked(settings, where, timeoutMs)
  } catch (error) {
    const problems = problemsOf(inFile(settings.file, error))
    return { ok: false, config: where, error: problems.join('\n'), upstreams: [], warnings: [] }
  } finally {
    await settings.kept.close()
  }
}

async function asked(settings: Settings, config: string, timeoutMs: number): Promise<CheckReport> {
  const { gateway, keyNames, notes, demo } = settings
  const answers = await Promise.all(
    Object.entries(gateway.upstreams).map(async ([name, upstream]) => {
      const keyPlace = keyNames[name] ?? `the key of upstreams.${name}`
      const answer: Answer = demo
        ? { state: 'not asked', detail: 'the demo is part of this program' }
        : await askUpstream(upstream, { fetch: gateway.fetch ?? fetch, timeoutMs, keyPlace })
      return { name, host: new URL(upstream.baseURL).host, answer }
    }),
  )
  const byName = new Map(answers.map(({ name, answer }) => [name, answer]))
  return {
    ok: answers.every(({ answer }) => answer.state !== 'failed'),
    config: demo ? `${config} (no provider key is set: a demo answers)` : config,
    upstreams: answers.map(({ name, host, answer: { state, detail, models, ms } }) => ({
      name,
      host,
      state,
      ...(detail === undefined ? {} : { detail }),
      ...(models === undefined ? {} : { models: models.length }),
      ...(ms === undefined ? {} : { ms }),
    })),
    warnings: [...notes, ...strangers(gateway.models, byName)],
  }
}

/** Names in `models` that their upstream does not list. Those with a star are not looked for. */
function strangers(models: Settings['gateway']['models'], answers: ReadonlyMap<string, Answer>): string[] {
  return Object.entries(models).flatMap(([name, route]) =>
    targetsOf(route).flatMap(({ upstream, model = name }) => {
      const answer = answers.get(upstream)
      if (model.includes('*') || answer?.state !== 'ok' || answer.comparable !== true) return []
      const { models: listed = [] } = answer
      const wanted = answer.listed?.(model) ?? model
      // Google's list has no prefix, and clients may write one.
      if (listed.length === 0 || listed.includes(wanted) || listed.includes(wanted.replace(/^models\//, ''))) return []
      const near = nearest(wanted, listed)
      const hint = near === undefined ? '' : `: did you mean '${near}'?`
      return [`models['${name}']: ${upstream} does not list '${model}'${hint}`]
    }),
  )
}
