import type { ModelPlaceList } from '@modelgate/core/test-support'
import { formType, writeForm } from '../input/malformed-forms.ts'
import type { Surface } from './surfaces.ts'

/**
 * Variants of a member that names a model. `duplicate` and `case` put a model outside of the list before a listed one.
 */
export const variants = ['listed', 'unlisted', 'duplicate', 'case'] as const
export type Variant = (typeof variants)[number]

/** One request of the matrix. */
export interface ModelCase {
  readonly name: string
  readonly surface: Surface
  readonly place: string
  readonly variant: Variant
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /** Name that an error must contain. */
  readonly named: string
}

/** Outcome of a request. */
export interface Observed {
  readonly status: number
  readonly text: string
  /** True if an upstream was called. */
  readonly reached: boolean
}

const unlisted = 'unlisted-model'
/** Makes a body large enough for outline parsing. */
const largeText = 'words '.repeat(20_000)

/** Returns every declared place, including those in recursive parts (once: such parts may contain each other). */
export function declaredPlaces({ names, chooses = {}, sameMembers: alike = {} }: ModelPlaceList): readonly string[] {
  const own = [...names, ...Object.keys(chooses)]
  const within = Object.entries(alike).flatMap(([path, other]) =>
    own.flatMap((place) => {
      if (other === '') return [`${path}.${place}`]
      const rest = place.slice(other.length)
      return place.startsWith(other) && /^[.[]/.test(rest) ? [`${path}${rest}`] : []
    }),
  )
  return [...new Set([...own, ...within])]
}

/** Returns the place of the role in the part that a recursive part resembles. */
function roleOf({ chooses = {}, sameMembers: alike = {} }: ModelPlaceList, place: string): readonly string[] | 'name' {
  const direct = chooses[place]
  if (direct !== undefined) return direct
  for (const [path, other] of Object.entries(alike))
    if (place.startsWith(path)) {
      const rest = place.slice(path.length)
      const found = chooses[other === '' ? rest.slice(1) : other + rest]
      if (found !== undefined) return found
    }
  return 'name'
}

interface Spelled {
  readonly form: string
  readonly listed: unknown
  readonly unlisted: unknown
  /** Text after the place's path in errors about an unlisted value. */
  readonly end: string
}

function valuesOf(role: readonly string[] | 'name', place: string, listed: string): readonly Spelled[] {
  if (role !== 'name') return [{ form: 'choice', listed: role[0] ?? null, unlisted: 'some', end: '' }]
  const text = { form: 'text', listed, unlisted, end: '' }
  if (!place.endsWith('s')) return [text]
  return [
    text,
    { form: 'list', listed: [listed], unlisted: [listed, unlisted], end: '' },
    { form: 'objects', listed: [{ model: listed }], unlisted: [{ model: unlisted }], end: '[0].model' },
  ]
}

const marker = '@@place@@'
const upperFirst = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

/** Returns the member as JSON text: only text can contain it twice. */
function memberText(key: string, { listed, unlisted }: Spelled, variant: Variant): string {
  const member = (name: string, value: unknown): string => `${JSON.stringify(name)}:${JSON.stringify(value)}`
  switch (variant) {
    case 'listed':
      return member(key, listed)
    case 'unlisted':
      return member(key, unlisted)
    case 'duplicate':
      return `${member(key, unlisted)},${member(key, listed)}`
    case 'case':
      return `${member(upperFirst(key), unlisted)},${member(key, listed)}`
  }
}

function jsonBody(surface: Surface, place: string, value: Spelled, variant: Variant, large: boolean): string {
  const { body, around = {}, replaces = {}, model } = surface
  const steps = place.split('.')
  const key = steps.at(-1) ?? ''
  const within = (depth: number): Record<string, unknown> => {
    const step = steps[depth] ?? ''
    if (depth === steps.length - 1) return { [marker]: 0 }
    const path = steps.slice(0, depth + 1).join('.')
    const inner: Record<string, unknown> = { ...around[path], ...within(depth + 1) }
    if (depth === steps.length - 2) delete inner[key]
    return { [step.replace('[]', '')]: step.endsWith('[]') ? [inner] : inner }
  }
  const top = { ...body?.(model) } as Record<string, unknown>
  if (steps.length === 1) delete top[key]
  const replaced = replaces[steps[0] ?? '']
  if (replaced !== undefined) delete top[replaced]
  // Unknown members pass; their size makes the body large.
  const whole = { ...(large ? { metadata: { text: largeText } } : {}), ...top, ...within(0) }
  return JSON.stringify(whole).replace(`"${marker}":0`, () => memberText(key, value, variant))
}

function formBody(surface: Surface, place: string, value: Spelled, variant: Variant): Uint8Array {
  const [first = '', ...rest] = place.replaceAll('[]', '.0').split('.')
  const name = (top: string, last: (key: string) => string): string =>
    rest.length === 0
      ? last(top)
      : top + rest.map((step, index) => `[${index === rest.length - 1 ? last(step) : step}]`).join('')
  const part = (last: (key: string) => string, model: unknown) => ({ name: name(first, last), value: String(model) })
  const same = (key: string): string => key
  const added = {
    listed: [part(same, value.listed ?? '')],
    unlisted: [part(same, value.unlisted)],
    duplicate: [part(same, value.unlisted), part(same, value.listed ?? '')],
    case: [part(upperFirst, value.unlisted)],
  }[variant]
  const parts = surface.parts?.(surface.model) ?? []
  return writeForm([
    ...parts.filter((one) => place !== 'model' || one.name !== 'model' || variant === 'case'),
    ...added,
  ])
}

/** Returns all requests to a surface. */
export function casesOf(surface: Surface, { large = false } = {}): readonly ModelCase[] {
  const { list } = surface.places
  const isForm = surface.parts !== undefined
  return declaredPlaces(list).flatMap((place) => {
    const role = roleOf(list, place)
    // A form expresses lists by repeating a field, and has no null.
    const values = valuesOf(role, place, surface.model).filter(({ form }) => !isForm || form !== 'objects')
    return values.flatMap((value) =>
      variants.flatMap((variant): ModelCase[] => {
        // Duplicates and spellings do not depend on the value.
        if (value !== values[0] && (variant === 'duplicate' || variant === 'case')) return []
        if (isForm && (value.form === 'list' || (variant === 'listed' && value.listed === null))) return []
        const path = isForm ? place.replaceAll('[]', '') : place.replaceAll('[]', '[0]')
        const named =
          variant === 'case'
            ? path.replace(/[^.]+$/, upperFirst)
            : path + (variant === 'unlisted' || (isForm && variant === 'duplicate') ? value.end : '')
        return [
          {
            name: `${surface.name}: ${place} (${value.form}, ${variant}${large ? ', large' : ''})`,
            surface,
            place,
            variant,
            headers: {
              'content-type': isForm ? formType : 'application/json',
              ...(surface.format === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
            },
            body: isForm ? formBody(surface, place, value, variant) : jsonBody(surface, place, value, variant, large),
            named,
          },
        ]
      }),
    )
  })
}

/** Returns a request that names no model other than its own. */
export function controlOf(surface: Surface): Pick<ModelCase, 'headers' | 'body' | 'surface'> {
  const { parts, body, model, format } = surface
  return {
    surface,
    headers: {
      'content-type': parts === undefined ? 'application/json' : formType,
      ...(format === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
    },
    body: parts === undefined ? JSON.stringify(body?.(model)) : writeForm(parts(model)),
  }
}

/** Places of the call's own model. */
const ownPlaces: ReadonlySet<string> = new Set(['model', 'session.model', 'input_audio_transcription.model'])

/**
 * Returns the defect of an outcome, or undefined. All names except listed ones must be rejected with an error that
 * names the member, before any upstream is called. A listed name must not be rejected.
 *
 * @param control outcome of the control request to the same surface
 */
export function faultOf({ variant, named, place, surface }: ModelCase, observed: Observed, control: Observed) {
  const { status, text, reached } = observed
  const reported = `status ${status}${reached ? ', an upstream was called' : ''}: ${text.slice(0, 200)}`
  if (variant === 'listed') {
    if (!reached && text.includes(`'${named}'`)) return `rejected for a listed model: ${reported}`
    return surface.lane === 'wire' && control.reached && !reached ? `no upstream was called: ${reported}` : undefined
  }
  if (reached || ![400, 403, 404].includes(status)) return `not refused: ${reported}`
  // Each format has its own error for the call's own model.
  return text.includes(ownPlaces.has(place) ? 'odel' : named) ? undefined : `rejected for another reason: ${reported}`
}
