import { isObject } from '../base/json/object.ts'
import type { JsonObject } from '../base/json/types.ts'
import type { BreakerConfig, GatewayConfig, ModelRoute, RetryConfig, RoutePlan, Target } from '../config/config.ts'
import type { OnLoss } from '../config/identity.ts'
import { defaultBreaker } from '../routing/health/circuit-breaker.ts'
import { lossPolicies } from '../routing/loss-policy.ts'
import { defaultRetry } from '../routing/retry-policy.ts'
import { routeTargets } from '../routing/router.ts'
import type { ReportProblem } from './config-problems.ts'

const strategies = ['order', 'weighted', 'fastest', 'sticky'] as const
const features = ['tools', 'images', 'audio', 'video', 'documents', 'json', 'reasoning', 'stream'] as const
const planFields = ['targets', 'strategy', 'preferLossless', 'retry', 'hedgeMs'] as const
const targetFields = [
  'upstream',
  'model',
  'onLoss',
  'priority',
  'weight',
  'when',
  'defaults',
  'overrides',
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
    report(`models is empty: say what clients may ask for, as in { 'gpt-*': '${names[0]}' }`)
  for (const [model, route] of Object.entries(models ?? {})) {
    const where = `models['${model}']`
    if (!hasShape(route, where, report)) continue
    const targets = routeTargets(route)
    if (targets.length === 0) report(`${where} is an empty list: name an upstream`)
    checkPlan(route, targets, where, report)
    for (const [at, target] of targets.entries())
      checkTarget(target, targets.length > 1 ? `${where}[${at}]` : where, model, { upstreams, names, report })
  }
}

/** Whether a route is one, so that its targets can be looked at. */
function hasShape(route: unknown, where: string, report: ReportProblem): route is ModelRoute {
  const list = isObject(route) && 'targets' in route ? route.targets : Array.isArray(route) ? route : [route]
  if (!Array.isArray(list)) {
    report(`${where}.targets is no list: write one of upstreams or targets`)
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
      `${where} has weights, which the strategy '${plan.strategy}' does not look at: leave them out, or write 'weighted' or 'sticky'`,
    )
  if (plan.preferLossless !== undefined && typeof plan.preferLossless !== 'boolean')
    report(`${where}.preferLossless is ${String(plan.preferLossless)}: write true or false`)
  positive(plan.hedgeMs, `${where}.hedgeMs`, report, Number.MAX_VALUE)
  if (plan.hedgeMs !== undefined && targets.length < 2)
    report(`${where}.hedgeMs: a second target is needed to be called beside the first`)
  checkRetry(plan.retry, `${where}.retry`, report)
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
    report(`${where} names the upstream '${upstream}', which is not among upstreams (${names.join(', ')})`)
  known(target, targetFields, where, report)
  checkPolicy(onLoss, `${where}.onLoss`, report)
  positive(weight, `${where}.weight`, report, Number.MAX_VALUE)
  if (priority !== undefined && !Number.isFinite(priority))
    report(`${where}.priority is ${String(priority)}: write a number; the lowest comes first`)
  if (when !== undefined && typeof when !== 'function')
    for (const feature of Array.isArray(when) && when.length > 0 ? when : [when])
      if (!features.includes(feature))
        report(
          `${where}.when is '${String(feature)}': write one of ${features.join(', ')}, or a function (request) => boolean`,
        )
  for (const field of ['defaults', 'overrides'] as const) {
    const wish = target[field]
    if (wish !== undefined && (typeof wish !== 'object' || wish === null || Array.isArray(wish)))
      report(`${where}.${field} is no object: write fields of the body, as in { temperature: 0.2 }`)
    else if (wish !== undefined) checkOverrides(wish, `${where}.${field}`, report)
  }
  known(limits ?? {}, limitFields, `${where}.limits`, report)
  for (const field of limitFields) positive(limits?.[field], `${where}.limits.${field}`, report)
  const stars = (name: string): number => name.split('*').length - 1
  if (target.model !== undefined && stars(target.model) > Math.max(1, stars(model)))
    report(`${where}.model is '${target.model}': it has more stars than '${model}' has`)
}

/** What a body must not be made to say behind the gateway's back. */
const reservedFields: Readonly<Record<string, string>> = {
  model: "write the model's name as the target's model",
  stream: 'whether an answer is streamed is for the client to say',
}

function checkOverrides(wish: JsonObject, where: string, report: ReportProblem): void {
  for (const [name, why] of Object.entries(reservedFields))
    if (Object.hasOwn(wish, name)) report(`${where} holds '${name}': ${why}`)
  try {
    JSON.stringify(wish)
  } catch {
    report(`${where} cannot be written as JSON`)
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
    report(`${where}.attempts is ${String(attempts)}: write a whole number from 1, the first call included`)
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
    report(`breaker.failureRate is ${failureRate}: write a share, from 0 to 1`)
  if (typeof window === 'number' && window > 0 && !Number.isInteger(window))
    report(`breaker.window is ${window}: write a whole number of calls`)
}

export function checkPolicy(value: unknown, where: string, report: ReportProblem): void {
  if (value !== undefined && !lossPolicies.includes(value as OnLoss))
    report(`${where} is '${String(value)}': write 'ignore', 'warn' or 'reject'`)
}

/** A misspelled setting would silently be none. */
function known(given: object, names: readonly string[], where: string, report: ReportProblem): void {
  for (const name of Object.keys(given))
    if (!names.includes(name)) report(`${where}.${name} is unknown: there are ${names.join(', ')}`)
}

function positive(value: unknown, where: string, report: ReportProblem, most = Number.POSITIVE_INFINITY): void {
  if (value !== undefined && !(typeof value === 'number' && value > 0 && value <= most))
    report(`${where} is ${String(value)}: write a number greater than 0`)
}

function notNegative(value: unknown, where: string, report: ReportProblem): void {
  if (value !== undefined && !(typeof value === 'number' && value >= 0))
    report(`${where} is ${String(value)}: write a number from 0`)
}
