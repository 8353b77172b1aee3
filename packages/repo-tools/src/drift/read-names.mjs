import { dirname, join } from 'node:path'
import ts from 'typescript'
import { ofTheSdk, unlisted } from './formats.mjs'

/**
 * A name with a sample value that contains it at its place, and the same value without it.
 *
 * @typedef {{ side: string, name: string, place: string, sample: unknown, bare: unknown }} FoundName
 */
/** @typedef {(value: unknown) => unknown} Wrap */

/** Depth to which required members of a sample value are filled in. */
const sampleDepth = 4

/**
 * Reads the names of fields and enum values from the types of SDKs.
 *
 * @param {string} folder where the SDKs are installed
 * @param {{ [side: string]: string | null }} roots the type of each side
 * @param {string} [declarations] types that the roots refer to
 * @returns {FoundName[]} each name once
 */
export function readNames(folder, roots, declarations = '') {
  const sides = Object.entries(roots).filter(([, type]) => type !== null)
  const file = join(folder, 'drift-roots.ts')
  const source = `${declarations}\n${sides.map(([side, type]) => `export type ${side} = ${type}`).join('\n')}`
  /** @type {ts.CompilerOptions} */
  const options = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
  }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.readFile = (name) => (name === file ? source : readFile(name))
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2023, true) : getSourceFile(name, ...rest)
  host.getCurrentDirectory = () => dirname(file)
  const program = ts.createProgram([file], options, host)
  const checker = program.getTypeChecker()
  const root = program.getSourceFile(file)
  if (root === undefined) throw new Error('The types could not be read.')
  const module = checker.getSymbolAtLocation(root)
  const exported = module === undefined ? [] : checker.getExportsOfModule(module)
  /** @type {{ request: Set<ts.Type>, answer: Set<ts.Type> }} */
  const seen = { request: new Set(), answer: new Set() }
  return sides.flatMap(([side]) => {
    const symbol = exported.find(({ name }) => name === side)
    const type = symbol === undefined ? undefined : checker.getDeclaredTypeOfSymbol(symbol)
    if (type === undefined || type.flags & ts.TypeFlags.Any)
      throw new Error(`The type ${roots[side]} was not found: has the SDK moved it?`)
    // Events repeat the members of the whole response.
    return namesOf(side, type, checker, side === 'request' ? seen.request : seen.answer)
  })
}

/**
 * @param {string} side
 * @param {ts.Type} root
 * @param {ts.TypeChecker} checker
 * @param {Set<ts.Type>} seen
 */
function namesOf(side, root, checker, seen) {
  /** @type {Map<string, FoundName>} */
  const names = new Map()

  /**
   * Records a name. The same field of the same kind of object is one name at all places.
   *
   * @param {string} owner
   * @param {string} name
   * @param {string} place
   * @param {unknown} sample
   * @param {unknown} bare
   */
  const add = (owner, name, place, sample, bare) => {
    const key = owner === '' ? name : `${owner}.${name}`
    if (!names.has(key)) names.set(key, { side, name: key, place, sample, bare })
  }

  /**
   * @param {ts.Type} type
   * @param {string} owner
   * @param {string} field
   * @param {string} path
   * @param {Wrap} wrap makes a value of the root from one of this type
   * @param {unknown} bare the value of the root without the field
   */
  function visit(type, owner, field, path, wrap, bare) {
    const parts = alternatives(type)
    for (const part of parts) {
      if (part.isStringLiteral()) {
        if ((parts.length > 1 || field === 'type') && !unlisted.has(field))
          add(owner, `${field}=${part.value}`, path, wrap(part.value), bare)
        continue
      }
      const element = elementOf(part)
      if (element !== undefined) visit(element, owner, field, `${path}[]`, (value) => wrap([value]), bare)
      else if (isRecord(part)) visitObject(part, field, path, wrap)
    }
  }

  /**
   * @param {ts.Type} type
   * @param {string} field
   * @param {string} path
   * @param {Wrap} wrap
   */
  function visitObject(type, field, path, wrap) {
    if (seen.has(type)) return
    seen.add(type)
    const tag = tagOf(type)
    const owner = tag ?? field
    const place = tag === undefined ? path : `${path}{${tag}}`
    const required = /** @type {Record<string, unknown>} */ (sampleOf(type, 0))
    for (const property of propertiesOf(type)) {
      const inner = checker.getTypeOfSymbol(property)
      const at = place === '' ? property.name : `${place}.${property.name}`
      /** @type {Wrap} */
      const around = (value) => wrap({ ...required, [property.name]: value })
      const { [property.name]: _, ...others } = required
      const bare = wrap(others)
      add(owner, property.name, at, around(sampleOf(inner, 0, true)), bare)
      visit(inner, owner, property.name, at, around, bare)
    }
  }

  /** @param {ts.Type} type */
  const propertiesOf = (type) =>
    [...checker.getPropertiesOfType(type)].sort(saidFirst).filter(({ name, flags, declarations = [] }) => {
      const isOwn = !declarations.some((declared) => ts.isGetAccessor(declared) || ts.isMethodDeclaration(declared))
      return isOwn && !(flags & ts.SymbolFlags.Method) && !name.startsWith('__') && !ofTheSdk.has(name)
    })

  /**
   * Returns the members of a union except null and undefined.
   *
   * @param {ts.Type} type
   */
  const alternatives = (type) =>
    (type.isUnion() ? type.types : [type]).filter(
      ({ flags }) => !(flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)),
    )

  /** @param {ts.Type} type */
  function elementOf(type) {
    if (!checker.isArrayType(type) && !checker.isTupleType(type)) return undefined
    return checker.getTypeArguments(/** @type {ts.TypeReference} */ (type))[0]
  }

  /**
   * Returns true for `string & {}`: any text in addition to the known values.
   *
   * @param {ts.Type} type
   */
  const isOpenText = (type) => type.isIntersection() && type.types.some(({ flags }) => flags & ts.TypeFlags.String)

  /** @param {ts.Type} type */
  const isRecord = (type) =>
    !isOpenText(type) &&
    (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0 &&
    checker.getSignaturesOfType(type, ts.SignatureKind.Call).length === 0 &&
    !['Uint8Array', 'Blob', 'Date', 'AbortSignal'].includes(type.symbol?.name ?? '')

  /**
   * Returns the literal that discriminates an object within its union.
   *
   * @param {ts.Type} type
   */
  function tagOf(type) {
    for (const key of ['type', 'role', 'object']) {
      const property = checker.getPropertyOfType(type, key)
      const inner = property === undefined ? undefined : checker.getTypeOfSymbol(property)
      if (inner?.isStringLiteral()) return inner.value
    }
    return undefined
  }

  /**
   * Returns a value of the type with its required members.
   *
   * @param {ts.Type} type
   * @param {number} depth
   * @param {boolean} whole gives nullable types and lists a value too
   * @returns {unknown}
   */
  function sampleOf(type, depth, whole = false) {
    // Optional members are omitted.
    if (!whole && type.isUnion() && type.types.some(({ flags }) => flags & ts.TypeFlags.Null)) return null
    const [first] = alternatives(type)
    const best = alternatives(type).find(({ flags }) => flags & ts.TypeFlags.String) ?? first
    if (best === undefined) return null
    if (best.isStringLiteral() || best.isNumberLiteral()) return best.value
    if (isOpenText(best)) return sentinel
    if (best.flags & ts.TypeFlags.BooleanLike) return true
    // Valid for every limit of the specification.
    if (best.flags & ts.TypeFlags.NumberLike) return 1
    if (best.flags & ts.TypeFlags.StringLike) return sentinel
    if (best.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return sentinel
    if (depth > sampleDepth) return null
    const element = elementOf(best)
    if (element !== undefined) return whole ? [sampleOf(element, depth + 1)] : []
    if (!isRecord(best)) return null
    /** @type {Record<string, unknown>} */
    const out = {}
    for (const property of propertiesOf(best))
      if (!(property.flags & ts.SymbolFlags.Optional))
        out[property.name] = sampleOf(checker.getTypeOfSymbol(property), depth + 1)
    return out
  }

  visit(root, '', '', '', (value) => value, {})
  return [...names.values()]
}

/** Output members come first: other members of a response repeat the request. */
const outputNames = new Set(['output', 'choices', 'candidates', 'content'])
/** @type {(a: ts.Symbol, b: ts.Symbol) => number} */
const saidFirst = (a, b) => Number(outputNames.has(b.name)) - Number(outputNames.has(a.name))

/** Text of samples that is searched for in the output. */
const sentinel = 'drift-sentinel'
