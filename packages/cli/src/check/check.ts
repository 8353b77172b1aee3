import { createGateway } from '@modelgate/core'
import { readSettings, type Settings } from '../config/settings.ts'
import { targetsOf } from '../config/targets.ts'
import { flag, readArgs, rejectExtraArguments, text, textOf } from '../terminal/args.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { nearest } from '../terminal/did-you-mean.ts'
import { inFile, problemsOf, UsageError } from '../terminal/errors.ts'
import { checkUpstream, type UpstreamCheck } from './check-upstream.ts'
import { type CheckReport, reportText } from './report-text.ts'

/** Runs `modelgate check`: validates the configuration and lists the models of each upstream. */
export async function check(args: string[], context: CommandContext): Promise<number> {
  const { values, positionals: words } = readArgs(args, { config: text, timeout: text, json: flag }, 'check')
  rejectExtraArguments(words, 'check')
  const timeoutMs = Number(values.timeout ?? 10) * 1000
  if (!(timeoutMs > 0 && timeoutMs <= 2 ** 31 - 1))
    throw new UsageError(
      `Invalid --timeout '${String(values.timeout)}': set it to a number of seconds greater than 0.`,
      'check',
    )
  const report = await createReport(context, textOf(values.config), timeoutMs)
  context.out(values.json === true ? JSON.stringify(report, null, 2) : reportText(report))
  return report.ok ? 0 : 1
}

async function createReport(
  context: CommandContext,
  config: string | undefined,
  timeoutMs: number,
): Promise<CheckReport> {
  let settings: Settings
  try {
    settings = await readSettings(context, { config }, 'nothing')
  } catch (error) {
    return { ok: false, config: config ?? '', error: problemsOf(error).join('\n'), upstreams: [], warnings: [] }
  }
  const where = settings.file ?? 'the environment'
  try {
    // Creating a gateway validates the whole configuration without any call.
    await createGateway({ ...settings.gateway, plugins: [] }).close()
    return await checkUpstreams(settings, where, timeoutMs)
  } catch (error) {
    const problems = problemsOf(inFile(settings.file, error))
    return { ok: false, config: where, error: problems.join('\n'), upstreams: [], warnings: [] }
  } finally {
    await settings.resources.close()
  }
}

async function checkUpstreams(settings: Settings, config: string, timeoutMs: number): Promise<CheckReport> {
  const { gateway, keyNames, notes, demo } = settings
  const checks = await Promise.all(
    Object.entries(gateway.upstreams).map(async ([name, upstream]) => {
      const keyLocation = keyNames[name] ?? `the key of upstreams.${name}`
      const result: UpstreamCheck = demo
        ? { state: 'skipped', detail: 'the demo runs in this process' }
        : await checkUpstream(upstream, { fetch: gateway.fetch ?? fetch, timeoutMs, keyLocation: keyLocation })
      return { name, host: new URL(upstream.baseURL).host, result }
    }),
  )
  const byName = new Map(checks.map(({ name, result }) => [name, result]))
  return {
    ok: checks.every(({ result }) => result.state !== 'failed'),
    config: demo ? `${config} (demo: no provider key is set)` : config,
    upstreams: checks.map(({ name, host, result: { state, detail, models, ms } }) => ({
      name,
      host,
      state,
      ...(detail === undefined ? {} : { detail }),
      ...(models === undefined ? {} : { models: models.length }),
      ...(ms === undefined ? {} : { ms }),
    })),
    warnings: [...notes, ...unlistedModels(gateway.models, byName)],
  }
}

/** Returns a warning for each name in `models` that its upstream does not list. Names with a star are not checked. */
function unlistedModels(models: Settings['gateway']['models'], checks: ReadonlyMap<string, UpstreamCheck>): string[] {
  return Object.entries(models).flatMap(([name, route]) =>
    targetsOf(route).flatMap(({ upstream, model = name }) => {
      const result = checks.get(upstream)
      if (model.includes('*') || result?.state !== 'ok' || result.namesMatchCalls !== true) return []
      const { models: listed = [] } = result
      const wanted = result.toListedName?.(model) ?? model
      // Google's list omits the prefix `models/`, which clients may send.
      if (listed.length === 0 || listed.includes(wanted) || listed.includes(wanted.replace(/^models\//, ''))) return []
      const near = nearest(wanted, listed)
      const hint = near === undefined ? '' : `. Did you mean '${near}'?`
      return [`models['${name}']: ${upstream} does not list '${model}'${hint}`]
    }),
  )
}
