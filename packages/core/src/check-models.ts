import type { BreakerConfig, GatewayConfig, ModelRoute, OnLoss, RetryConfig, RoutePlan, Target } from './config.ts'
import type { JsonObject } from './formats/ir.ts'
import { isObject } from './formats/shared/reader.ts'
import { defaultBreaker } from './health/breaker.ts'
import { policies } from './loss-policy.ts'
import { defaultRetry } from './retry.ts'
import { targetsOf } from './router.ts'

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

/** Throws a TypeError for the first thing in `models` that cannot be meant, with what to write instead. */
export function checkModels({ models, upstreams }: Pick<GatewayConfig, 'models' | 'upstreams'>): void {
  const names = Object.keys(upstreams)
  if (Object.keys(models ?? {}).length === 0)
    throw new TypeError(`models is empty: say what clients may ask for, as in { 'gpt-*': '${names[0]}' }`)
  for (const [model, route] of Object.entries(models)) {
    const where = `models['${model}']`
    checkShape(route, where)
    const targets = targetsOf(route)
    if (targets.length === 0) throw new TypeError(`${where} is an empty list: name an upstream`)
    checkPlan(route, targets, where)
    for (const [at, target] of targets.entries())
      checkTarget(target, targets.length > 1 ? `${where}[${at}]` : where, model, upstreams, names)
  }
}

function checkShape(route: unknown, where: string): void {
  const list = isObject(route) && 'targets' in route ? route.targets : Array.isArray(route) ? route : [route]
  if (!Array.isArray(list)) throw new TypeError(`${where}.targets is no list: write one of upstreams or targets`)
  for (const target of list)
    if (typeof target !== 'string' && !isObject(target))
      throw new TypeError(
        `${where} holds ${target === null ? 'null' : `a value of type ${typeof target}`}: write an upstream's name, a target, a list of them, or a plan`,
      )
}

function checkPlan(route: ModelRoute, targets: readonly Target[], where: string): void {
  const weighted = targets.some(({ weight }) => weight !== undefined)
  if (typeof route !== 'object' || !('targets' in route)) return
  const plan: RoutePlan = route
  known(plan, planFields, where)
  if (plan.strategy !== undefined && !strategies.includes(plan.strategy))
    throw new TypeError(`${where}.strategy is '${String(plan.strategy)}': write one of ${strategies.join(', ')}`)
  if (weighted && (plan.strategy === 'order' || plan.strategy === 'fastest'))
    throw new TypeError(
      `${where} has weights, which the strategy '${plan.strategy}' does not look at: leave them out, or write 'weighted' or 'sticky'`,
    )
  if (plan.preferLossless !== undefined && typeof plan.preferLossless !== 'boolean')
    throw new TypeError(`${where}.preferLossless is ${String(plan.preferLossless)}: write true or false`)
  positive(plan.hedgeMs, `${where}.hedgeMs`, Number.MAX_VALUE)
  if (plan.hedgeMs !== undefined && targets.length < 2)
    throw new TypeError(`${where}.hedgeMs: a second target is needed to be called beside the first`)
  checkRetry(plan.retry, `${where}.retry`)
}

function checkTarget(
  target: Target,
  where: string,
  model: string,
  upstreams: GatewayConfig['upstreams'],
  names: readonly string[],
): void {
  const { upstream, onLoss, weight, priority, when, limits } = target
  if (!Object.hasOwn(upstreams, upstream))
    throw new TypeError(`${where} names the upstream '${upstream}', which is not among upstreams (${names.join(', ')})`)
  known(target, targetFields, where)
  checkPolicy(onLoss, `${where}.onLoss`)
  positive(weight, `${where}.weight`, Number.MAX_VALUE)
  if (priority !== undefined && !Number.isFinite(priority))
    throw new TypeError(`${where}.priority is ${String(priority)}: write a number; the lowest comes first`)
  if (when !== undefined && typeof when !== 'function')
    for (const feature of Array.isArray(when) && when.length > 0 ? when : [when])
      if (!features.includes(feature))
        throw new TypeError(
          `${where}.when is '${String(feature)}': write one of ${features.join(', ')}, or a function (request) => boolean`,
        )
  for (const field of ['defaults', 'overrides'] as const) {
    const wish = target[field]
    if (wish !== undefined && (typeof wish !== 'object' || wish === null || Array.isArray(wish)))
      throw new TypeError(`${where}.${field} is no object: write fields of the body, as in { temperature: 0.2 }`)
    if (wish !== undefined) checkWish(wish, `${where}.${field}`)
  }
  known(limits ?? {}, limitFields, `${where}.limits`)
  for (const field of limitFields) positive(limits?.[field], `${where}.limits.${field}`)
  const stars = (name: string): number => name.split('*').length - 1
  if (target.model !== undefined && stars(target.model) > Math.max(1, stars(model)))
    throw new TypeError(`${where}.model is '${target.model}': it has more stars than '${model}' has`)
}

/** What a body must not be made to say behind the gateway's back. */
const notToWish: Readonly<Record<string, string>> = {
  model: "write the model's name as the target's model",
  stream: 'whether an answer is streamed is for the client to say',
}

function checkWish(wish: JsonObject, where: string): void {
  for (const [name, why] of Object.entries(notToWish))
    if (Object.hasOwn(wish, name)) throw new TypeError(`${where} holds '${name}': ${why}`)
  try {
    JSON.stringify(wish)
  } catch (cause) {
    throw new TypeError(`${where} cannot be written as JSON`, { cause })
  }
}

export function checkRetry(retry: RetryConfig | false | undefined, where: string): void {
  if (retry === undefined || retry === false) return
  if (!isObject(retry as unknown)) throw new TypeError(`${where} is ${String(retry)}: write an object, or false`)
  known(retry, Object.keys(defaultRetry), where)
  const { attempts, budgetRatio, budgetFloor, ...times } = retry
  if (attempts !== undefined && !(Number.isInteger(attempts) && attempts >= 1))
    throw new TypeError(
      `${where}.attempts is ${String(attempts)}: write a whole number from 1, the first call included`,
    )
  notNegative(budgetRatio, `${where}.budgetRatio`)
  notNegative(budgetFloor, `${where}.budgetFloor`)
  for (const [name, ms] of Object.entries(times)) notNegative(ms, `${where}.${name}`)
}

export function checkBreaker(breaker: BreakerConfig | false | undefined): void {
  if (breaker === undefined || breaker === false) return
  if (!isObject(breaker as unknown)) throw new TypeError(`breaker is ${String(breaker)}: write an object, or false`)
  known(breaker, Object.keys(defaultBreaker), 'breaker')
  for (const [name, value] of Object.entries(breaker)) positive(value, `breaker.${name}`)
  const { failureRate, window } = breaker
  if (failureRate !== undefined && failureRate > 1)
    throw new TypeError(`breaker.failureRate is ${failureRate}: write a share, from 0 to 1`)
  if (window !== undefined && !Number.isInteger(window))
    throw new TypeError(`breaker.window is ${window}: write a whole number of calls`)
}

export function checkPolicy(value: unknown, where: string): void {
  if (value !== undefined && !policies.includes(value as OnLoss))
    throw new TypeError(`${where} is '${String(value)}': write 'ignore', 'warn' or 'reject'`)
}

/** A misspelled setting would silently be none. */
function known(given: object, names: readonly string[], where: string): void {
  for (const name of Object.keys(given))
    if (!names.includes(name)) throw new TypeError(`${where}.${name} is unknown: there are ${names.join(', ')}`)
}

function positive(value: unknown, where: string, most = Number.POSITIVE_INFINITY): void {
  if (value !== undefined && !(typeof value === 'number' && value > 0 && value <= most))
    throw new TypeError(`${where} is ${String(value)}: write a number greater than 0`)
}

function notNegative(value: unknown, where: string): void {
  if (value !== undefined && !(typeof value === 'number' && value >= 0))
    throw new TypeError(`${where} is ${String(value)}: write a number from 0`)
}
