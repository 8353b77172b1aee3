import type { UpstreamFormat } from '../../base/names.ts'
import type { AcceptedChanges } from '../codec.ts'
import type { Effort, ModelRequest, Report, Turn } from '../ir.ts'
import type { ModelRule, ModelSetting } from '../target-traits.ts'
import { fieldPointer, loss } from './report.ts'
import { applySettingsChanges } from './settings-changes.ts'

/** Values that say no more than the absence of the setting. */
const defaults: { readonly [S in ModelSetting]?: number | string | boolean } = {
  'sampling.temperature': 1,
  'sampling.topP': 1,
  'sampling.presencePenalty': 0,
  'sampling.frequencyPenalty': 0,
  'output.verbosity': 'medium',
  'tools.parallel': true,
}

/** The rule for a model, or undefined. A `like` is followed once. */
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

/** `openai/gpt-5.4`, `us.openai.gpt-5.4` and `ft:gpt-4.1:org` without what stands in front of the model's own name. */
const bareName = (model: string): string =>
  model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/^(?:ft:|[a-z]+\.)+/, '')

/** A request as a model accepts it in one format. */
export interface FittedRequest {
  readonly request: ModelRequest
  /** The model accepts more of this request in another format: use this one only if the upstream speaks no other. */
  readonly restricted: boolean
}

/**
 * Removes what the model refuses in this format and reports it. Returns the same request where nothing is refused.
 *
 * @param accepted the changes within a conversation that the request can hold; others apply to the whole request, which is fitted
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
  const restrictedEffort = fitEffort(fitting, rule.formats?.[format]?.efforts)
  const restrictedTools = rule.formats?.[format]?.tools === 'without-reasoning' && fitTools(fitting, format)
  for (const setting of rule.refuses ?? []) remove(fitting, setting, 'the model does not accept it')
  if (!isWithoutReasoning(fitting))
    for (const setting of rule.refusesWhileReasoning ?? [])
      remove(fitting, setting, 'the model accepts it only while it does not reason')
  const restricted = restrictedEffort || restrictedTools || rule.notServedIn?.includes(format) === true
  return { request: fitting.request, restricted }
}

interface Fitting {
  request: ModelRequest
  readonly rule: ModelRule
  readonly report: Report
}

/** The effort that the request asks for, however it says so. */
function wantedEffort({ reasoning }: ModelRequest): Effort | undefined {
  if (reasoning?.off) return 'none'
  return (
    reasoning?.effort ?? (reasoning?.budgetTokens === undefined ? undefined : effortOfBudget(reasoning.budgetTokens))
  )
}

const isWithoutReasoning = ({ request, rule }: Fitting): boolean =>
  rule.efforts?.length === 0 || (wantedEffort(request) ?? rule.defaultEffort ?? 'medium') === 'none'

/** The field that asks for the effort. */
const effortField = ({ reasoning }: ModelRequest): string =>
  `reasoning.${reasoning?.off ? 'off' : reasoning?.effort === undefined ? 'budgetTokens' : 'effort'}`

function setEffort(fitting: Fitting, effort: Effort): void {
  const { off: _, adaptive: _adaptive, ...reasoning } = fitting.request.reasoning ?? {}
  fitting.request = { ...fitting.request, reasoning: { ...reasoning, effort } }
}

/** @returns whether another format accepts the effort that was asked for */
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

/** Efforts that the conversation changes to. */
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
  const { reasoning: asked, ...request } = fitting.request
  fitting.request = request
  if (asked === undefined) return
  const wanted = wantedEffort({ ...request, reasoning: asked })
  if (wanted !== undefined && wanted !== 'none') report(fitting, effortField({ ...request, reasoning: asked }), 'warn')
  else if (asked.adaptive) report(fitting, 'reasoning.adaptive', 'warn')
  if (asked.summary !== undefined && asked.summary !== 'none') report(fitting, 'reasoning.summary', 'note')

  function report(fitting: Fitting, field: string, severity: 'warn' | 'note'): void {
    tell(fitting, field, 'the model does not reason', 'unsupported', severity)
  }
}

/** @returns whether tools stand in the way of reasoning in this format */
function fitTools(fitting: Fitting, format: UpstreamFormat): boolean {
  const { request, rule } = fitting
  if (!request.tools?.list.length || isWithoutReasoning(fitting)) return false
  if (rule.efforts === undefined || rule.efforts.includes('none')) {
    const asked = wantedEffort(request)
    setEffort(fitting, 'none')
    tell(
      fitting,
      asked === undefined ? 'reasoning.effort' : effortField(request),
      `the model accepts tools in ${format} only without reasoning; the effort 'none' is sent`,
      'approximated',
      'warn',
    )
  } else tell(fitting, 'tools.list', `the model does not accept tools in ${format}`, 'unsupported', 'fatal')
  return true
}

/** Takes a setting out of the request; a value beyond the default is reported. */
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

/**
 * The effort that comes nearest to a budget of reasoning tokens. Only the three words that every reasoning model knows
 * are used. An approximation: report it as one.
 */
export const effortOfBudget = (tokens: number): Effort => (tokens <= 4096 ? 'low' : tokens <= 16384 ? 'medium' : 'high')

const rising: readonly Effort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** The nearest of the accepted efforts, the higher of two equally near. Reasoning is never switched off by being near. */
export function nearestEffort(wanted: Effort, accepted: readonly Effort[]): Effort | undefined {
  if (accepted.includes(wanted)) return wanted
  const rank = (word: Effort): number => rising.indexOf(word)
  const able = accepted.filter((word) => word !== 'none')
  let best: Effort | undefined
  for (const word of able.sort((a, b) => rank(b) - rank(a)))
    if (best === undefined || Math.abs(rank(word) - rank(wanted)) < Math.abs(rank(best) - rank(wanted))) best = word
  return best
}
