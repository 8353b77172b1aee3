import { formFields } from '../../formats/form.ts'
import type { FormFile } from '../../formats/format.ts'
import {
  type AsCode,
  curlStart,
  fetchRead,
  headerLines,
  pythonRead,
  savedAs,
  shellQuoted,
  tokenVariable,
} from '../../inspect/as-code.ts'
import { asJavaScript, fileImport } from '../../inspect/as-javascript.ts'
import { asPythonValue, pythonImports } from '../../inspect/as-python.ts'

/** Name of a file in the current folder, without characters that a shell or a header could interpret. */
const nameOf = ({ name }: File): string =>
  name.replaceAll(/[^\p{L}\p{N}._ -]/gu, '_').replace(/^[.-]+/, '_') || 'file.bin'

/** Groups files by their field: `image[]` is the list `image`. */
export function filesByField(
  files: readonly FormFile[],
): readonly (readonly [field: string, files: readonly File[], isList: boolean])[] {
  const fields = [...new Set(files.map(({ field }) => field))]
  return fields.map((field) => [
    field.replace(/\[\]$/, ''),
    files.filter((one) => one.field === field).map(({ file }) => file),
    field.endsWith('[]'),
  ])
}

/** `--form-string`: a value that begins with `@` or `<` is no file. */
export function asFormCurl(call: AsCode): string {
  const { body, files = [] } = call.request
  return [
    curlStart(call),
    ...formFields(body).map(([name, value]) => `--form-string ${shellQuoted(`${name}=${value}`)}`),
    ...files.map(({ field, file }) => `-F ${shellQuoted(`${field}=@${nameOf(file)};type=${file.type}`)}`),
  ].join(' \\\n  ')
}

/** Returns an expression that reads a file, for Node. */
export const fileInJavaScript = (file: File): string => {
  const name = asJavaScript(nameOf(file))
  return `new File([readFileSync(${name})], ${name}, { type: ${asJavaScript(file.type)} })`
}

export const fileInPython = (file: File): string => `open(${asPythonValue(nameOf(file))}, "rb")`

export function asFormFetch(call: AsCode): string {
  const { base, request } = call
  const { body, files = [] } = request
  const headers = headerLines(call, { quote: asJavaScript, token: `process.env.${tokenVariable}`, indent: '    ' })
  const fields = [
    ...formFields(body).map(([name, value]) => `form.append(${asJavaScript(name)}, ${asJavaScript(value)})\n`),
    ...files.map(({ field, file }) => `form.append(${asJavaScript(field)}, ${fileInJavaScript(file)})\n`),
  ]
  return `${fileImport({ reads: true, writes: savedAs(call) !== undefined })}
const form = new FormData()
${fields.join('')}
const response = await fetch(${asJavaScript(base + request.path)}, {
  method: 'POST',
${headers === '' ? '' : `  headers: {\n${headers}  },\n`}  body: form,
})
${fetchRead(call)}`
}

/** Uses the standard library only, which has no forms. */
export function asFormPython(call: AsCode): string {
  const { base, request } = call
  const { body, files = [] } = request
  const headers = headerLines(call, {
    quote: asPythonValue,
    token: `os.environ["${tokenVariable}"]`,
    indent: '        ',
  })
  const pairs = formFields(body).map(([name, value]) => `    (${asPythonValue(name)}, ${asPythonValue(value)}),\n`)
  const uploads = files.map(
    ({ field, file }) => `    (${[field, nameOf(file), file.type].map((text) => asPythonValue(text)).join(', ')}),\n`,
  )
  const code = `fields = [
${pairs.join('')}]
files = [
${uploads.join('')}]

boundary = uuid.uuid4().hex
parts = []
for name, value in fields:
    head = f'--{boundary}\\r\\nContent-Disposition: form-data; name="{name}"\\r\\n\\r\\n'
    parts += [head.encode(), value.encode(), b"\\r\\n"]
for name, path, type in files:
    head = (
        f'--{boundary}\\r\\nContent-Disposition: form-data; name="{name}"; filename="{path}"\\r\\n'
        f"Content-Type: {type}\\r\\n\\r\\n"
    )
    parts += [head.encode(), open(path, "rb").read(), b"\\r\\n"]
parts.append(f"--{boundary}--\\r\\n".encode())

request = urllib.request.Request(
    ${asPythonValue(base + request.path)},
    method="POST",
    headers={
${headers}        "content-type": f"multipart/form-data; boundary={boundary}",
    },
    data=b"".join(parts),
)
with urllib.request.urlopen(request) as response:
    ${pythonRead(call)}`
  return `${pythonImports(code, 'json', 'os', 'urllib.request', 'uuid')}\n${code}`
}
