import { stringEnd } from '../../base/json/scan.ts'
import type { Json } from '../../base/json/types.ts'
import { type MemberKind, memberKind } from './answer-members.ts'

/** How the texts within a JSON value are treated. */
export type Treatment =
  /** Searched for credentials. */
  | 'plain'
  /** The upstream's words about a failure: searched for everything that is not for clients. */
  | 'error'
  /** A model's words: left as they are. */
  | 'content'

/** The treatment of a text under a name of this kind, within a value of that treatment. */
const ofText = (outer: Treatment, kind: MemberKind | undefined): Treatment =>
  outer !== 'plain' || kind === undefined ? outer : kind === 'content' || kind === 'value' ? 'content' : 'error'

/** The same of an object. */
const ofObject = (outer: Treatment, kind: MemberKind | undefined): Treatment =>
  outer !== 'plain' ? outer : kind === 'error' ? 'error' : kind === 'value' ? 'content' : 'plain'

/** Whether a text may pass as it is. */
export type IsClean = (text: string, treatment: 'plain' | 'error') => boolean

/** Whether all texts of a value may pass, names included. */
export function isCleanJson(value: Json, isClean: IsClean, outer: Treatment, kind?: MemberKind): boolean {
  if (typeof value === 'string') {
    const treatment = ofText(outer, kind)
    return treatment === 'content' || isClean(value, treatment)
  }
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) {
    // Vectors are the longest lists there are. Read as `value[0]`, where lists of objects are read too, V8 makes an object of each number.
    if (kind === 'content' && outer !== 'error' && typeof Reflect.get(value, 0) === 'number') return true
    for (let at = 0; at < value.length; at++) if (!isCleanJson(value[at] as Json, isClean, outer, kind)) return false
    return true
  }
  const inner = ofObject(outer, kind)
  if (inner === 'content') return true
  for (const name in value) {
    const member = value[name]
    if (!isClean(name, 'plain')) return false
    if (typeof member !== 'string' && typeof member !== 'object') continue
    if (!isCleanJson(member as Json, isClean, inner, memberKind(name))) return false
  }
  return true
}

interface Frame {
  readonly treatment: Treatment
  readonly isObject: boolean
  /** The next string of an object is a name. */
  atName: boolean
  /** That of the member at hand; of a list, its own. */
  kind: MemberKind | undefined
}

/**
 * JSON text with some of its strings replaced; every other byte stays. The text must be valid.
 *
 * @param replace returns the very string where nothing is to be replaced; names are given to it as `plain`
 */
export function replaceStrings(
  text: string,
  replace: (value: string, treatment: 'plain' | 'error') => string,
  outer: Treatment,
): string {
  const frames: Frame[] = []
  let frame: Frame = { treatment: outer, isObject: false, atName: false, kind: undefined }
  let out = ''
  let from = 0
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const end = stringEnd(text, at)
        const value = JSON.parse(text.slice(at, end)) as string
        const isName = frame.atName
        if (isName) {
          frame.atName = false
          frame.kind = memberKind(value)
        }
        const treatment =
          isName && frame.treatment === 'error'
            ? 'plain'
            : isName
              ? frame.treatment
              : ofText(frame.treatment, frame.kind)
        const told = treatment === 'content' ? value : replace(value, treatment)
        if (told !== value) {
          out += text.slice(from, at) + JSON.stringify(told)
          from = end
        }
        at = end - 1
        break
      }
      case '{':
        frames.push(frame)
        frame = { treatment: ofObject(frame.treatment, frame.kind), isObject: true, atName: true, kind: undefined }
        break
      case '[':
        frames.push(frame)
        frame = { treatment: frame.treatment, isObject: false, atName: false, kind: frame.kind }
        break
      case '}':
      case ']':
        frame = frames.pop() ?? frame
        break
      case ',':
        frame.atName = frame.isObject
        break
      default:
    }
  }
  return from === 0 ? text : out + text.slice(from)
}
