import { describe, expect, it } from 'vitest'
import { type SidebarItem, sidebar } from '../../../../docs/.vitepress/sidebar.ts'
import { documents } from '../documentation/pages.mjs'
import { apiPackages } from './api-pages.mjs'
import { addressOf, excludedPages } from './page-links.ts'

/** Links of pages; a group's own link repeats one of them. */
const linksOf = (items: readonly SidebarItem[]): string[] =>
  items.flatMap(({ link, items: inner }) => (inner === undefined ? [link ?? ''] : linksOf(inner)))

const written = documents
  .filter((file) => file.startsWith('docs/'))
  .map((file) => file.slice('docs/'.length))
  .filter((file) => file !== 'index.md' && !excludedPages.includes(file))
  .map((file) => `/${addressOf(file).replace(/(?:index)?\.md$/, '')}`)
/** The build writes the API pages. */
const pages = [...written, ...apiPackages.map(({ folder }) => `/reference/api/${folder}`)]

describe('the sidebar of the documentation site', () => {
  it('lists every page once and nothing else', () => {
    const listed = linksOf(sidebar)
    expect(
      pages.filter((page) => !listed.includes(page)),
      'pages to add to docs/.vitepress/sidebar.ts',
    ).toEqual([])
    expect(
      listed.filter((link) => !pages.includes(link)),
      'entries to remove from docs/.vitepress/sidebar.ts',
    ).toEqual([])
    expect(listed.filter((link, i) => listed.indexOf(link) !== i)).toEqual([])
  })

  it('links each group that collapses to a page of the group', () => {
    const groups = (items: readonly SidebarItem[]): readonly SidebarItem[] =>
      items.flatMap((item) => (item.items === undefined ? [] : [item, ...groups(item.items)]))
    const wrong = groups(sidebar).filter(
      ({ collapsed, link, items = [] }) => collapsed !== undefined && !linksOf(items).includes(link ?? ''),
    )
    expect(wrong.map(({ text }) => text)).toEqual([])
  })

  it('has the five sections of the documentation', () => {
    expect(sidebar.map(({ text }) => text)).toEqual(['Guide', 'Recipes', 'Reference', 'Operate', 'Internals'])
  })
})
