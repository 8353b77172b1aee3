import { isObject, type JsonObject } from '../base/json/json.ts'
import type { Format } from '../base/names.ts'
import { known, type ReportProblem, reportAllProblems } from '../base/problems.ts'
import type {
  BreakerConfig,
  GatewayConfig,
  HoldUntil,
  ModelRoute,
  RetryConfig,
  RoutePlan,
  Target,
} from '../config/config.ts'
import type { OnLoss } from '../config/identity.ts'
import { defaultLimits, type Limits } from '../config/limits.ts'
import { maxMediaBytes } from '../config/media-policy.ts'
import { resolveReferences } from '../config/references.ts'
import { isUpstreamFormat } from '../formats/codec-registry.ts'
import { defaultBreaker } from '../routing/health/circuit-breaker.ts'
import { lossPolicies } from '../routing/loss-policy.ts'
import { matchesModel } from '../routing/model-patterns.ts'
import { defaultRetry } from '../routing/retry-policy.ts'
import { routeTargets } from '../routing/router.ts'
import { checkCard, checkModelCards } from '../upstreams/model-cards/check-card.ts'

/** The formats that have an endpoint for counting tokens. */
const countedFormats: ReadonlySet<string> = new Set<Format>(['messages', 'gemini', 'responses', 'converse'])

/** Checks a configuration once, at the start. Throws one TypeError with all its problems and what to write instead. */
export function checkConfig(
  config: GatewayConfig,
  checkForEdition?: (config: GatewayConfig, report: ReportProblem) => void,
): void {
  const isEmpty = Object.keys(config.upstreams ?? {}).length === 0
  reportAllProblems(
    (report) => checkAuth(config, report),
    (report) => checkUpstreams(config, report),
    (report) => {
      if (!isEmpty) checkModels(config, report)
    },
    (report) => checkListedModels(config, report),
    (report) => checkModelCards(config.modelCards, report),
    (report) => checkRetry(config.retry, 'retry', report),
    (report) => checkBreaker(config.breaker, report),
    (report) => checkPolicy(config.onLoss, 'onLoss', report),
    (report) => checkOptions(config, report),
    (report) => checkCompaction(config, report),
    (report) => checkLimits(config.limits, report),
    (report) => checkForEdition?.(config, report),
    () => {
      resolveReferences(config.references)
    },
  )
}

function checkAuth({ auth }: GatewayConfig, report: ReportProblem): void {
  if (auth !== 'none' && typeof auth !== 'function')
    report("auth is required: set a function (credential) => identity | null, or 'none' to accept every call")
}

function checkUpstreams({ upstreams }: GatewayConfig, report: ReportProblem): void {
  const names = Object.keys(upstreams ?? {})
  if (names.length === 0) report('upstreams is empty: add at least one, such as { openai: openai({ apiKey }) }')
  for (const name of names) {
    const problems = upstreams[name]?.problems ?? []
    for (const problem of problems) report(`upstreams.${name}.${problem}`)
    if (problems.length > 0) continue
    const formats = Object.keys(upstreams[name]?.formats ?? {})
    const offers = formats.length + Object.keys(upstreams[name]?.operations ?? {}).length
    if (offers === 0 || !formats.every(isUpstreamFormat))
      report(
        `upstreams.${name} is not an upstream: create it with openai(), anthropic(), gemini(), openaiCompatible() or another provider factory`,
      )
    for (const format of Object.keys(upstreams[name]?.countTokens ?? {}))
      if (!countedFormats.has(format))
        report(
          `upstreams.${name}.countTokens names the format '${format}', which has no endpoint for counting tokens: leave it out`,
        )
  }
}

function checkListedModels({ listedModels, models }: GatewayConfig, report: ReportProblem): void {
  if (listedModels === undefined) return
  if (!Array.isArray(listedModels)) {
    report("listedModels is not a list: write model names, such as ['gpt-5', 'gpt-5-mini']")
    return
  }
  for (const name of listedModels as readonly unknown[])
    if (typeof name !== 'string' || name === '' || name.includes('*'))
      report(`listedModels holds ${JSON.stringify(name)}: write a model name without '*'`)
    else if (!matchesModel(name, Object.keys(models ?? {})))
      report(`listedModels holds '${name}', which matches no model route: add a route for it, or leave it out`)
}

function checkOptions(config: GatewayConfig, report: ReportProblem): void {
  const { health, explain, tokenizer, basePath, spool, media, fetch, transport, objects } = config
  if (health !== undefined && (typeof health.read !== 'function' || typeof health.write !== 'function'))
    report('health is not a HealthState: set an object with read(id) and write(id, cooldown)')
  if (explain !== undefined && typeof explain !== 'boolean' && typeof explain !== 'function')
    report('explain is neither a boolean nor a function (identity) => boolean')
  if (spool !== undefined && typeof spool !== 'function')
    report('spool is not a function () => Spool: set one such as fileSpool of @modelgate/node')
  if (transport !== undefined && typeof transport !== 'function')
    report('transport is not a function: set one such as undiciTransport() of @modelgate/node')
  if (transport !== undefined && fetch !== undefined) report('fetch and transport are both set: set only one of them')
  if (tokenizer !== undefined && typeof tokenizer !== 'function') report('tokenizer is not a function (text) => number')
  if (media !== undefined && (typeof media.allows !== 'function' || typeof media.fetch !== 'function'))
    report('media is not a MediaPolicy: create one with mediaFetcher({ hosts: [...] })')
  for (const [name, most] of [
    ['maxCount', Number.MAX_SAFE_INTEGER],
    ['maxTotalBytes', maxMediaBytes],
  ] as const) {
    const value = media?.[name]
    if (value !== undefined && !(typeof value === 'number' && value > 0 && value <= most))
      report(`media.${name} is ${String(value)}: write a number from 1 to ${most}`)
  }
  for (const name of objects?.upstreams ?? [])
    if (!Object.hasOwn(config.upstreams ?? {}, name) || config.upstreams[name]?.objects === undefined)
      report(
        `objects.upstreams holds '${name}', which is not an upstream that stores objects: name one such as openai()`,
      )
  const { ttlMs } = objects ?? {}
  if (ttlMs !== undefined && !(typeof ttlMs === 'number' && ttlMs > 0))
    report(`objects.ttlMs is ${String(ttlMs)}: write a number greater than 0`)
  if (basePath !== undefined && !(basePath.startsWith('/') && !basePath.endsWith('/')))
    report(`basePath is '${basePath}': it must start with '/' and not end with one, as in '/ai'`)
}

/** Shorter secrets can be guessed. */
const minSecretChars = 32

function checkCompaction({ compaction, models }: GatewayConfig, report: ReportProblem): void {
  if (compaction === undefined || compaction === 'refuse') return
  if (!isObject(compaction as unknown)) {
    report(`compaction is ${String(compaction)}: write { model, prompt, secret }, or 'refuse'`)
    return
  }
  known(compaction, ['model', 'prompt', 'secret'], 'compaction', report)
  const { model, prompt, secret } = compaction
  if (model !== undefined && !(typeof model === 'string' && matchesModel(model, Object.keys(models ?? {}))))
    report(
      `compaction.model is '${String(model)}', which matches no model route: write a name of models, or leave it out`,
    )
  if (prompt !== undefined && !(typeof prompt === 'string' && prompt.trim() !== ''))
    report('compaction.prompt is not a text: write an instruction for the summary, or leave it out')
  // The value is a secret, so the message does not contain it.
  if (secret !== undefined && !(typeof secret === 'string' && secret.length >= minSecretChars))
    report(`compaction.secret must be a text of at least ${minSecretChars} characters: write a long random one`)
}

function checkLimits(limits: Limits = {}, report: ReportProblem): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(defaultLimits, name))
      report(`limits.${name} is unknown. Known limits: ${Object.keys(defaultLimits).join(', ')}`)
    else if (value !== undefined && !(typeof value === 'number' && value > 0))
      report(`limits.${name} is ${String(value)}: write a number greater than 0`)
  }
}

const strategies = ['order', 'weighted', 'fastest', 'sticky'] as const
const conditions = ['tools', 'images', 'audio', 'video', 'documents', 'json', 'reasoning', 'stream', 'fits'] as const
const holdPoints: readonly HoldUntil[] = ['first-event', 'end']
const planFields = ['targets', 'strategy', 'preferLossless', 'card', 'retry', 'hedgeMs', 'holdUntil'] as const
const targetFields = [
  'upstream',
  'model',
  'onLoss',
  'priority',
  'weight',
  'when',
  'card',
  'defaults',
  'overrides',
  'cache',
  'limits',
] as const
const limitFields = ['connectMs', 'firstByteMs', 'idleMs', 'totalMs'] as const

/** Reports everything in `models` that cannot be meant, with what to write instead. */
export function checkModels(
  { models, upstreams }: Pick<GatewayConfig, 'models' | 'upstreams'>,
  report: ReportProblem,
): void {
  const names = Object.keys(upstreams)
  if (Object.keys(models ?? {}).length === 0)
    report(`models is empty: add at least one model route, such as { 'gpt-*': '${names[0]}' }`)
  for (const [model, route] of Object.entries(models ?? {})) {
    const where = `models['${model}']`
    if (!hasShape(route, where, report)) continue
    const targets = routeTargets(route)
    if (targets.length === 0) report(`${where} is an empty list: add an upstream`)
    checkPlan(route, targets, where, report)
    for (const [at, target] of targets.entries())
      checkTarget(target, targets.length > 1 ? `${where}[${at}]` : where, model, { upstreams, names, report })
  }
}

/** Whether a route is one, so that its targets can be looked at. */
function hasShape(route: unknown, where: string, report: ReportProblem): route is ModelRoute {
  const list = isObject(route) && 'targets' in route ? route.targets : Array.isArray(route) ? route : [route]
  if (!Array.isArray(list)) {
    report(`${where}.targets is not a list: write a list of upstream names or targets`)
    return false
  }
  if (list.every((target) => typeof target === 'string' || isObject(target))) return true
  const stray: unknown = list.find((target) => typeof target !== 'string' && !isObject(target))
  report(
    `${where} holds ${stray === null ? 'null' : `a value of type ${typeof stray}`}: write an upstream's name, a target, a list of them, or a plan`,
  )
  return false
}

function checkPlan(route: ModelRoute, targets: readonly Target[], where: string, report: ReportProblem): void {
  const weighted = targets.some(({ weight }) => weight !== undefined)
  if (typeof route !== 'object' || !('targets' in route)) return
  const plan: RoutePlan = route
  known(plan, planFields, where, report)
  if (plan.strategy !== undefined && !strategies.includes(plan.strategy))
    report(`${where}.strategy is '${String(plan.strategy)}': write one of ${strategies.join(', ')}`)
  if (weighted && (plan.strategy === 'order' || plan.strategy === 'fastest'))
    report(
      `${where} has weights, which the strategy '${plan.strategy}' ignores: leave them out, or write 'weighted' or 'sticky'`,
    )
  if (plan.preferLossless !== undefined && typeof plan.preferLossless !== 'boolean')
    report(`${where}.preferLossless is ${String(plan.preferLossless)}: write true or false`)
  positive(plan.hedgeMs, `${where}.hedgeMs`, report, Number.MAX_VALUE)
  if (plan.hedgeMs !== undefined && targets.length < 2) report(`${where}.hedgeMs requires at least two targets`)
  if (plan.holdUntil !== undefined && !holdPoints.includes(plan.holdUntil))
    report(`${where}.holdUntil is '${String(plan.holdUntil)}': write one of ${holdPoints.join(', ')}`)
  // A held stream has not responded until its end: nearly every call would be sent to two targets.
  if (plan.holdUntil === 'end' && plan.hedgeMs !== undefined)
    report(`${where}.hedgeMs excludes holdUntil 'end': leave one out`)
  checkRetry(plan.retry, `${where}.retry`, report)
  checkCard(plan.card, `${where}.card`, report)
}

function checkTarget(
  target: Target,
  where: string,
  model: string,
  {
    upstreams,
    names,
    report,
  }: {
    readonly upstreams: GatewayConfig['upstreams']
    readonly names: readonly string[]
    readonly report: ReportProblem
  },
): void {
  const { upstream, onLoss, weight, priority, when, limits } = target
  if (!Object.hasOwn(upstreams, upstream))
    report(`${where} names the unknown upstream '${upstream}'. Known upstreams: ${names.join(', ')}`)
  known(target, targetFields, where, report)
  checkPolicy(onLoss, `${where}.onLoss`, report)
  positive(weight, `${where}.weight`, report, Number.MAX_VALUE)
  if (priority !== undefined && !Number.isFinite(priority))
    report(`${where}.priority is ${String(priority)}: write a number; targets with the lowest number are tried first`)
  for (const condition of Array.isArray(when) && when.length > 0 ? when : [when])
    if (condition !== undefined && typeof condition !== 'function' && !conditions.includes(condition))
      report(
        `${where}.when is '${String(condition)}': write one of ${conditions.join(', ')}, or a function (request) => boolean`,
      )
  checkCard(target.card, `${where}.card`, report)
  for (const field of ['defaults', 'overrides'] as const) {
    const wish = target[field]
    if (wish !== undefined && (typeof wish !== 'object' || wish === null || Array.isArray(wish)))
      report(`${where}.${field} is not an object: write fields of the request body, such as { temperature: 0.2 }`)
    else if (wish !== undefined) checkOverrides(wish, `${where}.${field}`, report)
  }
  if (target.cache !== undefined && target.cache !== 'auto')
    report(`${where}.cache is '${String(target.cache)}': write 'auto', or leave it out`)
  known(limits ?? {}, limitFields, `${where}.limits`, report)
  for (const field of limitFields) positive(limits?.[field], `${where}.limits.${field}`, report)
  const stars = (name: string): number => name.split('*').length - 1
  if (target.model !== undefined && stars(target.model) > Math.max(1, stars(model)))
    report(`${where}.model is '${target.model}': it has more '*' than '${model}'`)
}

/** What a body must not be made to say behind the gateway's back. */
const reservedFields: Readonly<Record<string, string>> = {
  model: 'set the model of the target instead',
  stream: 'the client decides whether to stream',
}

function checkOverrides(wish: JsonObject, where: string, report: ReportProblem): void {
  for (const [name, why] of Object.entries(reservedFields))
    if (Object.hasOwn(wish, name)) report(`${where} holds '${name}': ${why}`)
  try {
    JSON.stringify(wish)
  } catch {
    report(`${where} cannot be serialized as JSON`)
  }
}

export function checkRetry(retry: RetryConfig | false | undefined, where: string, report: ReportProblem): void {
  if (retry === undefined || retry === false) return
  if (!isObject(retry as unknown)) {
    report(`${where} is ${String(retry)}: write an object, or false`)
    return
  }
  known(retry, Object.keys(defaultRetry), where, report)
  const { attempts, budgetRatio, budgetFloor, ...times } = retry
  if (attempts !== undefined && !(Number.isInteger(attempts) && attempts >= 1))
    report(`${where}.attempts is ${String(attempts)}: write a whole number of at least 1; the first call counts`)
  notNegative(budgetRatio, `${where}.budgetRatio`, report)
  notNegative(budgetFloor, `${where}.budgetFloor`, report)
  for (const [name, ms] of Object.entries(times))
    if (Object.hasOwn(defaultRetry, name)) notNegative(ms, `${where}.${name}`, report)
}

export function checkBreaker(breaker: BreakerConfig | false | undefined, report: ReportProblem): void {
  if (breaker === undefined || breaker === false) return
  if (!isObject(breaker as unknown)) {
    report(`breaker is ${String(breaker)}: write an object, or false`)
    return
  }
  known(breaker, Object.keys(defaultBreaker), 'breaker', report)
  for (const [name, value] of Object.entries(breaker))
    if (Object.hasOwn(defaultBreaker, name)) positive(value, `breaker.${name}`, report)
  const { failureRate, window } = breaker
  if (typeof failureRate === 'number' && failureRate > 1)
    report(`breaker.failureRate is ${failureRate}: write a number from 0 to 1`)
  if (typeof window === 'number' && window > 0 && !Number.isInteger(window))
    report(`breaker.window is ${window}: write a whole number of calls`)
}

export function checkPolicy(value: unknown, where: string, report: ReportProblem): void {
  if (value !== undefined && !lossPolicies.includes(value as OnLoss))
    report(`${where} is '${String(value)}': write 'ignore', 'warn' or 'reject'`)
}

function positive(value: unknown, where: string, report: ReportProblem, most = Number.POSITIVE_INFINITY): void {
  if (value !== undefined && !(typeof value === 'number' && value > 0 && value <= most))
    report(`${where} is ${String(value)}: write a number greater than 0`)
}

function notNegative(value: unknown, where: string, report: ReportProblem): void {
  if (value !== undefined && !(typeof value === 'number' && value >= 0))
    report(`${where} is ${String(value)}: write a number from 0`)
}
