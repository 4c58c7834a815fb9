#!/usr/bin/env python3
"""Apply all recorded patches to their originals, with git.

    patches.py TRANSCRIPT JOURNAL

prints the patches that do not give the file after the edit, for the edits whose
original stands in the transcript, and exits with 1 if there are any.
"""
import json, os, shutil, subprocess, sys, tempfile
transcript, journal = sys.argv[1:3]
before={}
for l in open(transcript):
    o=json.loads(l); r=o.get('toolUseResult'); c=(o.get('message') or {}).get('content')
    if isinstance(r,dict) and r.get('structuredPatch') is not None and r.get('originalFile') is not None and isinstance(c,list):
        new=None
        if 'newString' in r:
            a,b=r['oldString'],r['newString']; t=r['originalFile']
            if b=='' and not a.endswith('\n') and a+'\n' in t: a+='\n'
            new=t.replace(a,b) if r.get('replaceAll') else t.replace(a,b,1)
        else: new=r.get('content')
        before[c[0]['tool_use_id']]=(r['originalFile'],new,r['filePath'])
ok=bad=0
for l in open(journal):
    o=json.loads(l)
    m=o.get('metadata') or {}
    if o.get('type')!='TOOL_EXECUTION' or m.get('callId') not in before: continue
    old,new,path=before[m['callId']]
    for f in m.get('files',[]):
        p=f.get('patch','')
        d=tempfile.mkdtemp()
        rel=[x for x in p.split('\n') if x.startswith('+++ ')][0][6:]
        os.makedirs(os.path.dirname(os.path.join(d,rel)) or d,exist_ok=True)
        open(os.path.join(d,rel),'w',newline='').write(old)
        r=subprocess.run(['git','apply','--whitespace=nowarn','-'],input=p.encode(),cwd=d,capture_output=True)
        got=open(os.path.join(d,rel),newline='').read()
        if r.returncode==0 and got==new and not f.get('inexact'): ok+=1
        else:
            bad+=1
            print('BAD',r.returncode,got==new,f.get('inexact'),r.stderr[:200],path)
        shutil.rmtree(d)
sys.exit(1 if bad or (before and not ok) else 0)
