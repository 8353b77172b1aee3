import { join } from 'node:path'
import { root } from '../base/workspace.mjs'
import { repositoryURL, resolvePageLink } from './page-links.ts'

/** The used part of markdown-it's token. It is installed into a cache folder only. */
interface Token {
  type: string
  info: string
  content: string
  children: Token[] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}

interface Environment {
  path: string
  realPath?: string
}

type Render = (tokens: Token[], index: number, ...rest: unknown[]) => string

export interface MarkdownIt {
  core: { ruler: { push(name: string, rule: (state: { tokens: Token[]; env: Environment }) => void): void } }
  renderer: { rules: Record<string, Render | undefined> }
  utils: { escapeHtml(text: string): string }
}

/** Adapts pages that are written for GitHub: their links, and the file names of their code blocks. */
export function adaptMarkdown(md: MarkdownIt): void {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const page = env.realPath ?? env.path ?? join(root, 'docs/index.md')
    for (const token of tokens) if (token.children !== null) token.children = adaptLinks(token.children, page)
  })
  md.core.ruler.push('code-group-labels', ({ tokens }) => {
    for (const token of tokensOfGroups(tokens)) {
      const file = fileName(token)
      if (file !== undefined && !/\[.*\]/.test(token.info)) token.info += ` [${file}]`
    }
  })
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const token = tokens[index]
    const html = fence?.(tokens, index, ...rest) ?? ''
    const file = token && fileName(token)
    if (file === undefined || tokensOfGroups(tokens).has(token as Token)) return html
    return `<div class="file-name">${md.utils.escapeHtml(file)}</div>${html}`
  }
}

function adaptLinks(tokens: Token[], page: string): Token[] {
  let isUnlinked = false
  return tokens.filter((token) => {
    if (token.type === 'link_open') {
      const href = resolvePageLink(token.attrGet('href') ?? '', page, repositoryURL)
      isUnlinked = href === undefined
      if (href !== undefined) token.attrSet('href', href)
      return !isUnlinked
    }
    return token.type !== 'link_close' || !isUnlinked
  })
}

/** Code blocks below `::: code-group`, which are shown as tabs. */
function tokensOfGroups(tokens: readonly Token[]): Set<Token> {
  const found = new Set<Token>()
  let isInGroup = false
  for (const token of tokens) {
    if (token.type === 'container_code-group_open') isInGroup = true
    else if (token.type === 'container_code-group_close') isInGroup = false
    else if (isInGroup && token.type === 'fence') found.add(token)
  }
  return found
}

/** The second word after the language is the name of the file that the block shows. */
const fileName = ({ info }: Token): string | undefined => /^\S+ +([^\s[{]+\.[^\s[{]+)/.exec(info)?.[1]
