import { quietly } from '../base/callbacks.ts'
import type { Format } from '../base/names.ts'
import type { GatewayConfig, Limits, Logger } from '../config/config.ts'
import { defaultLimits } from '../config/limits.ts'
import { mostMediaBytes } from '../config/media-policy.ts'
import { referencePolicy } from '../config/references.ts'
import { hasCodec } from '../formats/codec-registry.ts'
import { routes } from '../operations/routes.ts'
import { matchesModel } from '../routing/model-patterns.ts'
import { type ReportProblem, reportAllProblems } from './config-problems.ts'
import { checkBreaker, checkModels, checkPolicy, checkRetry } from './validate-models.ts'

/** The formats that have an endpoint for counting tokens. */
const countedFormats: ReadonlySet<Format> = new Set(
  routes.filter(({ operation }) => operation === 'count-tokens').map(({ format }) => format),
)

/** Checks a configuration once, at the start. Throws one TypeError with all its problems and what to write instead. */
export function checkConfig(config: GatewayConfig): void {
  const isEmpty = Object.keys(config.upstreams ?? {}).length === 0
  reportAllProblems(
    (report) => checkAuth(config, report),
    (report) => checkUpstreams(config, report),
    (report) => {
      if (!isEmpty) checkModels(config, report)
    },
    (report) => checkListedModels(config, report),
    (report) => checkRetry(config.retry, 'retry', report),
    (report) => checkBreaker(config.breaker, report),
    (report) => checkPolicy(config.onLoss, 'onLoss', report),
    (report) => checkOptions(config, report),
    (report) => checkLimits(config.limits, report),
    () => {
      referencePolicy(config.references)
    },
  )
}

function checkAuth({ auth }: GatewayConfig, report: ReportProblem): void {
  if (auth !== 'none' && typeof auth !== 'function')
    report("auth is required: give a function (credential) => identity | null, or the word 'none' to let every call in")
}

function checkUpstreams({ upstreams }: GatewayConfig, report: ReportProblem): void {
  const names = Object.keys(upstreams ?? {})
  if (names.length === 0) report('upstreams is empty: name at least one, as in { openai: openai({ apiKey }) }')
  for (const name of names) {
    const problems = upstreams[name]?.problems ?? []
    for (const problem of problems) report(`upstreams.${name}.${problem}`)
    if (problems.length > 0) continue
    const formats = Object.keys(upstreams[name]?.formats ?? {}) as Format[]
    const offers = formats.length + Object.keys(upstreams[name]?.operations ?? {}).length
    if (offers === 0 || !formats.every(hasCodec))
      report(
        `upstreams.${name} is no upstream: make it with openai(), anthropic(), gemini(), openaiCompatible() or another of the kind`,
      )
    for (const format of Object.keys(upstreams[name]?.countTokens ?? {}) as Format[])
      if (!countedFormats.has(format))
        report(
          `upstreams.${name}.countTokens names the format '${format}', which has no endpoint for counting tokens: leave it out`,
        )
  }
}

function checkListedModels({ listedModels, models }: GatewayConfig, report: ReportProblem): void {
  if (listedModels === undefined) return
  if (!Array.isArray(listedModels)) {
    report("listedModels is no list: write names of models, as in ['gpt-5', 'gpt-5-mini']")
    return
  }
  for (const name of listedModels as readonly unknown[])
    if (typeof name !== 'string' || name === '' || name.includes('*'))
      report(`listedModels holds ${JSON.stringify(name)}: write the name of a model, without a star`)
    else if (!matchesModel(name, Object.keys(models ?? {})))
      report(`listedModels holds '${name}', which no route of models matches: add a route for it, or leave it out`)
}

function checkOptions(config: GatewayConfig, report: ReportProblem): void {
  const { health, explain, tokenizer, basePath, spool, media, fetch, transport } = config
  if (health !== undefined && (typeof health.read !== 'function' || typeof health.write !== 'function'))
    report('health is no HealthState: give an object with read(id) and write(id, rest)')
  if (explain !== undefined && typeof explain !== 'boolean' && typeof explain !== 'function')
    report('explain is neither a boolean nor a function (identity) => boolean')
  if (spool !== undefined && typeof spool !== 'function')
    report('spool is not a function () => Spool: give one such as fileSpool of @modelgate/node')
  if (transport !== undefined && typeof transport !== 'function')
    report('transport is not a function: give one such as undiciTransport() of @modelgate/node')
  if (transport !== undefined && fetch !== undefined) report('fetch and transport are both set: set only one of them')
  if (tokenizer !== undefined && typeof tokenizer !== 'function') report('tokenizer is not a function (text) => number')
  if (media !== undefined && (typeof media.allows !== 'function' || typeof media.fetch !== 'function'))
    report('media is no MediaPolicy: make one with mediaFetcher({ hosts: [...] })')
  for (const [name, most] of [
    ['maxCount', Number.MAX_SAFE_INTEGER],
    ['maxTotalBytes', mostMediaBytes],
  ] as const) {
    const value = media?.[name]
    if (value !== undefined && !(typeof value === 'number' && value > 0 && value <= most))
      report(`media.${name} is ${String(value)}: write a number from 1 to ${most}`)
  }
  if (basePath !== undefined && !(basePath.startsWith('/') && !basePath.endsWith('/')))
    report(`basePath is '${basePath}': start it with a slash and end it without one, as in '/ai'`)
}

function checkLimits(limits: Limits = {}, report: ReportProblem): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(defaultLimits, name))
      report(`limits.${name} is unknown: the limits are ${Object.keys(defaultLimits).join(', ')}`)
    else if (value !== undefined && !(typeof value === 'number' && value > 0))
      report(`limits.${name} is ${String(value)}: write a number greater than 0`)
  }
}

const silent: Logger = { warn() {}, error() {} }
export const loggerOf = (logger: Logger | false | undefined): Logger =>
  logger === false ? silent : careful(logger ?? console)

/** A logger that throws or rejects must not fail a call, and there is nowhere left to log it. */
const careful = (logger: Logger): Logger => ({
  warn: (message, details) =>
    quietly(() => (details === undefined ? logger.warn(message) : logger.warn(message, details))),
  error: (message, details) =>
    quietly(() => (details === undefined ? logger.error(message) : logger.error(message, details))),
})
