import type { JsonObject } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import type { RequestHead } from '../formats/dialect.ts'
import { invalidRequest, type WireError } from '../wire/errors.ts'
import type { RequestBody } from '../wire/request-body.ts'

/** Anthropic's skills by id, each with its versions. */
export interface SkillMemory {
  readonly skills: Map<string, { object: JsonObject; readonly versions: Map<string, JsonObject> }>
}

export const createSkillMemory = (): SkillMemory => ({ skills: new Map() })

interface SkillCall {
  readonly head: RequestHead
  readonly content: RequestBody
  readonly memory: SkillMemory
  readonly ids: Ids
  readonly now: number
}

type SkillAnswer =
  | { readonly json: JsonObject }
  | { readonly content: Uint8Array<ArrayBuffer>; readonly contentType: string }
  | { readonly error: WireError }

const path = /\/skills(?:\/([^/]+))?(?:\/(versions)(?:\/([^/]+)(\/content)?)?)?$/

const methods: Readonly<Record<string, readonly string[]>> = {
  skills: ['POST', 'GET'],
  'skills/id': ['GET', 'DELETE'],
  'skills/id/versions': ['POST', 'GET'],
  'skills/id/versions/item': ['GET', 'DELETE'],
  'skills/id/versions/item/content': ['GET'],
}

/** Returns the id in a path of skills; undefined for other paths and methods. */
export function skillPath(short: string, method: string): { readonly id?: string } | undefined {
  const found = path.exec(short)
  if (found === null || found.index !== 0) return undefined
  const [, id, versions, item, content] = found
  const shape = ['skills', id && 'id', versions, item && 'item', content && 'content'].filter(Boolean).join('/')
  if (methods[shape]?.includes(method) !== true) return undefined
  return id === undefined ? {} : { id }
}

const missing = (what: string): SkillAnswer => ({ error: invalidRequest(404, `Not found: ${what}`) })
const page = (data: readonly JsonObject[]): SkillAnswer => ({
  json: { data: [...data].reverse(), has_more: false, next_page: null },
})

/** Handles a call about Anthropic's skills. */
export function serveSkill(call: SkillCall): SkillAnswer {
  const { head, memory } = call
  const [, id, versions, item, content] = path.exec(head.path) ?? []
  const { skills } = memory
  if (id === undefined)
    return head.method === 'POST' ? createSkill(call) : page([...skills.values()].map(({ object }) => object))
  const skill = skills.get(id)
  if (skill === undefined) return missing(id)
  if (versions === undefined) {
    if (head.method !== 'DELETE') return { json: skill.object }
    if (skill.versions.size > 0)
      return { error: invalidRequest(400, 'Cannot delete a skill with versions. Delete its versions first.') }
    skills.delete(id)
    return { json: { id, type: 'skill_deleted' } }
  }
  if (item === undefined) {
    if (head.method !== 'POST') return page([...skill.versions.values()])
    const created = createVersion(call, id)
    if ('error' in created) return created
    skill.versions.set(String(created.json.id), created.json)
    skill.object = { ...skill.object, latest_version_id: created.json.id ?? null }
    return created
  }
  const version = skill.versions.get(item)
  if (version === undefined) return missing(item)
  if (content !== undefined) return { content: new TextEncoder().encode('PK'), contentType: 'application/zip' }
  if (head.method !== 'DELETE') return { json: version }
  skill.versions.delete(item)
  return { json: { id: item, type: 'skill_version_deleted' } }
}

const isSkillFile = (name: string): boolean => /^files(?:\[\d*\])?$/.test(name)

function createVersion(
  { content: { form }, ids, now }: SkillCall,
  skill: string,
): { readonly json: JsonObject } | { readonly error: WireError } {
  if (form === undefined) return { error: invalidRequest(400, 'Could not parse multipart form') }
  const unknown = form.find(({ name }) => !isSkillFile(name) && name !== 'display_name')
  if (unknown !== undefined)
    return { error: invalidRequest(400, `${unknown.name}: Extra inputs are not permitted`, { param: unknown.name }) }
  if (!form.some(({ name, filename }) => isSkillFile(name) && /(?:^|\/)SKILL\.md$/.test(filename ?? '')))
    return { error: invalidRequest(400, 'files: SKILL.md is required', { param: 'files' }) }
  return {
    json: {
      id: `skillver_${ids.letters(16).replace(/[^a-zA-Z0-9]/g, 'x')}`,
      type: 'skill_version',
      skill_id: skill,
      name: 'skill',
      description: 'A skill.',
      created_at: new Date(now).toISOString(),
    },
  }
}

function createSkill(call: SkillCall): SkillAnswer {
  const { ids, memory, now } = call
  const id = `skill_${ids.letters(20).replace(/[^a-zA-Z0-9]/g, 'x')}`
  const version = createVersion(call, id)
  if ('error' in version) return version
  const time = new Date(now).toISOString()
  const name = call.content.form?.find((part) => part.name === 'display_name')
  const object = {
    id,
    type: 'skill',
    display_name: name === undefined ? 'skill' : new TextDecoder().decode(name.bytes),
    latest_version_id: version.json.id ?? null,
    source: { type: 'custom' },
    created_at: time,
    updated_at: time,
  }
  memory.skills.set(id, { object, versions: new Map([[String(version.json.id), version.json]]) })
  return { json: object }
}
