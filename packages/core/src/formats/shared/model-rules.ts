import type { UpstreamFormat } from '../../base/names.ts'
import type { AcceptedChanges } from '../codec.ts'
import type { Effort, ModelRequest, Part, Report, Turn } from '../ir.ts'
import type { ModelRule, ModelSetting } from '../target-traits.ts'
import { cachePlace, fieldPointer, loss } from './report.ts'
import { applySettingsChanges } from './settings-changes.ts'

/** Values that equal the absence of the setting. */
const defaults: { readonly [S in ModelSetting]?: number | string | boolean } = {
  'sampling.temperature': 1,
  'sampling.topP': 1,
  'sampling.presencePenalty': 0,
  'sampling.frequencyPenalty': 0,
  'output.verbosity': 'medium',
  'tools.parallel': true,
}

/** Returns the rule of a model. A `like` is followed once. */
export function findModelRule(rules: readonly ModelRule[] | undefined, model: string): ModelRule | undefined {
  if (rules === undefined) return undefined
  const found = match(rules, model)
  return found?.like === undefined
    ? found
    : {
        ...match(
          rules.filter((rule) => rule !== found),
          found.like,
        ),
        ...found,
      }
}

function match(rules: readonly ModelRule[], model: string): ModelRule | undefined {
  const name = bareName(model)
  return rules.find(
    (rule) =>
      name.startsWith(rule.model) &&
      !(endsInDigit.test(rule.model) && startsWithDigit.test(name.slice(rule.model.length))),
  )
}

const endsInDigit = /\d$/
const startsWithDigit = /^\d/

/** Returns `openai/gpt-5.4`, `us.openai.gpt-5.4` and `ft:gpt-4.1:org` without the prefixes of the model's own name. */
export const bareName = (model: string): string =>
  model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/^(?:ft:|[a-z]+\.)+/, '')

/** A request that a model accepts in one format. */
export interface FittedRequest {
  readonly request: ModelRequest
  /** The model accepts more of the request in another format, which is preferred if the upstream speaks it. */
  readonly restricted: boolean
}

/**
 * Removes settings that the model rejects in this format, and reports them. Returns the same request if nothing changes.
 *
 * @param accepted changes within the conversation that the target accepts; others are applied to the whole request first
 */
export function fitToModel(
  request: ModelRequest,
  rule: ModelRule | undefined,
  format: UpstreamFormat,
  report: Report,
  accepted: AcceptedChanges = {},
): FittedRequest {
  if (rule === undefined) return { request, restricted: false }
  const fitting: Fitting = { request: applySettingsChanges(request, accepted, format, report), rule, report }
  fitChanges(fitting)
  if (rule.cacheBreakpoints === true) fitting.request = withBreakpoints(fitting.request)
  const restrictedEffort = fitEffort(fitting, rule.formats?.[format]?.efforts)
  const restrictedTools = rule.formats?.[format]?.tools === 'without-reasoning' && fitTools(fitting, format)
  for (const setting of rule.refuses ?? []) remove(fitting, setting, 'the model does not accept it')
  if (!isWithoutReasoning(fitting))
    for (const setting of rule.refusesWhileReasoning ?? [])
      remove(fitting, setting, 'the model accepts it only without reasoning')
  const restricted = restrictedEffort || restrictedTools || rule.notServedIn?.includes(format) === true
  return { request: fitting.request, restricted }
}

/** Turns the cache hints of turns and their parts into breakpoints. The hint of a turn applies to its last part. */
function withBreakpoints(marked: ModelRequest): ModelRequest {
  const request = marked.cache === undefined ? marked : { ...marked, cache: { ...marked.cache, isBreakpoint: true } }
  if (!request.turns.some(({ cache, parts }) => cache !== undefined || parts.some((part) => part.cache !== undefined)))
    return request
  const turns = request.turns.map(({ cache: ofTurn, ...turn }): Turn => {
    const parts = turn.parts.map((part, index): Part => {
      const cache = part.cache ?? (index === turn.parts.length - 1 ? ofTurn : undefined)
      return cache === undefined
        ? part
        : { ...part, cache: { ...cache, at: cachePlace({ ...part, cache }), isBreakpoint: true } }
    })
    return { ...turn, parts }
  })
  return { ...request, turns }
}

interface Fitting {
  request: ModelRequest
  readonly rule: ModelRule
  readonly report: Report
}

/** Returns the effort that the request states in any form. */
function wantedEffort({ reasoning }: ModelRequest): Effort | undefined {
  if (reasoning?.off) return 'none'
  return (
    reasoning?.effort ?? (reasoning?.budgetTokens === undefined ? undefined : effortOfBudget(reasoning.budgetTokens))
  )
}

const isWithoutReasoning = ({ request, rule }: Fitting): boolean =>
  rule.efforts?.length === 0 || (wantedEffort(request) ?? rule.defaultEffort ?? 'medium') === 'none'

/** Returns the IR field that states the effort. */
const effortField = ({ reasoning }: ModelRequest): string =>
  `reasoning.${reasoning?.off ? 'off' : reasoning?.effort === undefined ? 'budgetTokens' : 'effort'}`

function setEffort(fitting: Fitting, effort: Effort): void {
  const { off: _, adaptive: _adaptive, ...reasoning } = fitting.request.reasoning ?? {}
  fitting.request = { ...fitting.request, reasoning: { ...reasoning, effort } }
}

/** @returns whether another format accepts the requested effort */
function fitEffort(fitting: Fitting, inFormat: readonly Effort[] | undefined): boolean {
  const { request, rule } = fitting
  const accepted = inFormat ?? rule.efforts
  if (request.reasoning === undefined || accepted === undefined) return false
  if (accepted.length === 0) {
    dropReasoning(fitting)
    return false
  }
  const wanted = wantedEffort(request)
  if (wanted === undefined || accepted.includes(wanted)) return false
  const near = nearestEffort(wanted, accepted)
  if (near === undefined) {
    const { effort: _, off: _off, budgetTokens: _budget, ...reasoning } = request.reasoning
    fitting.request = { ...request, reasoning }
  } else setEffort(fitting, near)
  const sent = near === undefined ? 'no effort is sent' : `'${near}' is sent`
  tell(
    fitting,
    effortField(request),
    `the model does not accept the effort '${wanted}'; ${sent}`,
    'approximated',
    wanted === 'none' ? 'warn' : 'note',
  )
  return inFormat !== undefined && rule.efforts?.includes(wanted) !== false
}

/** Replaces efforts in changes within the conversation. */
function fitChanges(fitting: Fitting): void {
  const { request, rule, report } = fitting
  const { efforts } = rule
  if (efforts === undefined || !request.turns.some(({ changes }) => changes !== undefined)) return
  const turns = request.turns.map((turn): Turn => {
    const { changes } = turn
    if (changes === undefined) return turn
    return {
      ...turn,
      changes: changes.map((change) => {
        const { effort, ...others } = change
        if (effort === undefined || efforts.includes(effort)) return change
        const near = nearestEffort(effort, efforts)
        const sent = near === undefined ? 'no effort is sent' : `'${near}' is sent`
        const detail = `the model does not accept the effort '${effort}'; ${sent}`
        report.add(loss(change.at ?? '', detail, 'approximated', effort === 'none' ? 'warn' : 'note'))
        return near === undefined ? others : { ...others, effort: near }
      }),
    }
  })
  fitting.request = { ...request, turns }
}

function dropReasoning(fitting: Fitting): void {
  const { reasoning, ...request } = fitting.request
  fitting.request = request
  if (reasoning === undefined) return
  const wanted = wantedEffort({ ...request, reasoning })
  if (wanted !== undefined && wanted !== 'none') report(fitting, effortField({ ...request, reasoning }), 'warn')
  else if (reasoning.adaptive) report(fitting, 'reasoning.adaptive', 'warn')
  if (reasoning.summary !== undefined && reasoning.summary !== 'none') report(fitting, 'reasoning.summary', 'note')

  function report(fitting: Fitting, field: string, severity: 'warn' | 'note'): void {
    tell(fitting, field, 'the model does not reason', 'unsupported', severity)
  }
}

/** @returns whether tools exclude reasoning in this format */
function fitTools(fitting: Fitting, format: UpstreamFormat): boolean {
  const { request, rule } = fitting
  if (!request.tools?.list.length || isWithoutReasoning(fitting)) return false
  if (rule.efforts === undefined || rule.efforts.includes('none')) {
    const requested = wantedEffort(request)
    setEffort(fitting, 'none')
    tell(
      fitting,
      requested === undefined ? 'reasoning.effort' : effortField(request),
      `the model accepts tools in ${format} only without reasoning; the effort 'none' is sent`,
      'approximated',
      'warn',
    )
  } else tell(fitting, 'tools.list', `the model does not accept tools in ${format}`, 'unsupported', 'fatal')
  return true
}

/** Removes a setting; reports it unless it has the default value. */
function remove(fitting: Fitting, setting: ModelSetting, reason: string): void {
  const [group, field] = setting.split('.') as ['sampling' | 'output' | 'tools', string]
  const settings = fitting.request[group] as Readonly<Record<string, unknown>> | undefined
  if (settings === undefined || settings[field] === undefined) return
  const { [field]: value, ...rest } = settings
  fitting.request = { ...fitting.request, [group]: rest }
  if (value !== defaults[setting]) tell(fitting, setting, reason, 'unsupported', 'warn')
}

const tell = (
  { request, report }: Fitting,
  field: string,
  detail: string,
  kind: 'unsupported' | 'approximated',
  severity: 'fatal' | 'warn' | 'note',
): void => report.add(loss(fieldPointer(field, request.at, undefined), detail, kind, severity))

/** Returns the effort nearest to a budget of reasoning tokens. Uses only efforts that every reasoning model accepts. Report it as an approximation. */
export const effortOfBudget = (tokens: number): Effort => (tokens <= 4096 ? 'low' : tokens <= 16384 ? 'medium' : 'high')

const rising: readonly Effort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** Returns the nearest accepted effort, the higher one of two at the same distance. Never returns `none` for another effort. */
export function nearestEffort(wanted: Effort, accepted: readonly Effort[]): Effort | undefined {
  if (accepted.includes(wanted)) return wanted
  const rank = (word: Effort): number => rising.indexOf(word)
  const able = accepted.filter((word) => word !== 'none')
  let best: Effort | undefined
  for (const word of able.sort((a, b) => rank(b) - rank(a)))
    if (best === undefined || Math.abs(rank(word) - rank(wanted)) < Math.abs(rank(best) - rank(wanted))) best = word
  return best
}
