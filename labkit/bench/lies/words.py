"""What a report says, as patterns: that it compares, speaks of memory, of requests, of the host. Case does not matter;
English and Chinese."""

import re

# before a burst, after 20 calls: no names of two that are compared
_PROSE = r" (an?|the|each|every|any|all|its?|this|that|these|they|we|which|\w+ing|\d+ [a-z]{3,})\b"
_EXTENT = r"(batch|size|n\b|width|rows|length|shape|load|number|vocab\w*|sequence|depth|heads?|classes|columns)"
_OWN = r"(median|mean|average|least|lowest|shortest|longest|min\w*|max\w*|p ?\d|size|number|bytes?|l2|cache)\b"
# What a report concludes from two figures, or calls them by.
VERDICT = (
    r"speed.?up|speeds? [^.\n]{1,30} up|faster|slower|quicker|times as (fast|slow|long)|\b(as fast|the fastest)\b"
    rf"|\d +times the (?!{_OWN})\w+ of (the |our |its |a |an )?(?!{_OWN})"
    r"|winner|\bgain|improve|\bfactor\b"
    r"|\b(of|times) (its|their|the other.s) (time|duration)\b|\b1/ ?\d+(\.\d+)? of (the|its|their)\b"
    r"|\bratio\b|\bbeats?\b|\d\s?[x×](?![ \t]*[\w+*/-])|\bwins\b|\bsav(es|ing) \d"
    r"|\bbaseline\b|\bcandidate\b|\bold\b[\s\S]{1,400}\bnew\b|\bcosts?\b.{0,20}[+-]\d"
    rf"|\bbefore\b(?!{_PROSE})[\s\S]{{1,400}}\bafter\b(?!{_PROSE})"
    r"|\b[a-z]\w+ / (?!(s|sec|second|call|step|token|request|image|sample|row|core|item|byte|iteration)s?\b)[a-z]\w+\b"
    r"[^\n:]{0,30}: *\d*\.\d"
    r"|(?<![\w.)])[+-]\d+(\.\d+)? ?%|takes? \d[\d.]* ?% (more|less|of)\b"
    r"|加速|更快|更慢|提升|倍|基线"
)
# That it holds two against each other, with a conclusion or without.
COMPARES = rf"{VERDICT}|\bagainst\b(?! (the |its )?{_EXTENT})|\bvs\b(?!\.? {_EXTENT})|versus|compar|对比"
NO_COMPARISON = r"no comparison|not compar|nothing is compared|not a comparison|held against|no(t| one) .{0,30}against"
# A result that is held against a reference: no comparison of times.
CHECKED = r"\b(check|verif|validat|test|assert|correct|agree|match|result)\w*( \w+){0,4} against\b"
BANDWIDTH = (
    r"bandwidth|\b[KMGT]i?B ?/ ?s|\b[KMGT]i?B (per|a) s|bytes (per|a|/) ?s|\b[gt]bps\b"
    r"|\bcold\b(?! (start|call|run|boot|launch))|\bHBM\b|\bDRAM\b"
    r"|roofline|memory.bound|memory throughput|main memory|off.chip|(fresh|different|new) (input|data|tensor)"
    r"|(clear|flush|empt)\w* (the )?(l2|cache)|带宽|冷|访存"
)
# In words, and not by a rate alone: data that the L2 does not hold (inputs with new values may be in it; a cold call is
# a first one). And a rate that is the card's.
_DATA = r"(l2|caches?|data|inputs?|operands?|tensors?|weights?|buffers?|memory)"
FROM_MEMORY = (
    rf"\bcold {_DATA}\b|\b{_DATA}( (is|are|stays?|always|kept))*:? cold\b|\bHBM\b|\bDRAM\b|main memory|off.chip"
    r"|(for|seen|read|arriv\w*|touched) the first time|(clear|flush|empt)\w* (the )?(l2|cache)|from (the )?memory\b"
    r"|冷(缓存|数据)|主存"
)
WAY = (
    r"\b(read|load|fetch|stream|writ|com|mov|went|pull)\w*( \w+){0,3} (from|out of|to|through) (the )?"
    r"(HBM|DRAM|main memory|device memory)\b"
)
GIVEN = r"peak|limit|roof|theor|\bspec|ideal|at most|up to|maximum|bound|峰值|上限|理论"
WARM = (
    r"\bwarm (cache|l2)|\bhot\b|(l2|cache).resident|resident in|in (the )?l2|cached|(from|through|out of) (the )?l2"
    r"|l2 bandwidth|\b(in|from|out of) (the )?cache\b"
    r"|fits?[ _](in[ _])?(the[ _])?l2"
    r"|\bl2( cache)?( is| stays)?:? (warm|hot)|cache( is| stays)? (warm|hot)|热|(留|仍|都|常驻)在? ?(l2|缓存)"
    r"|\b(never|not|without) (leav\w*|out of) (the )?l2\b"
    r"|\b(HBM|DRAM|main memory) (has|plays|takes|had) no (part|role|share)"
    r"|\bnot? \w*( the)? (HBM|DRAM)('s)? (traffic|bandwidth|rate)"
    r"|\b(HBM|DRAM|main memory) (is|was) not (touched|involved|read|reached|needed)"
    r"|(served|fed|answered) (by|from|out of) (the )?l2\b|\bl2 to l2\b"
)
HOST = (
    r"\bhost.?(time|side|cost|overhead)|\bhost (ns|us|µs|ms)\b|\b(until|till) the call (is back|returns|comes back)"
    r"|(dispatch|launch|issue|issuing|enqueue|submi\w+)\W(\w+\W)?(cost|time|overhead|laten)"
    r"|(cost|time|overhead) (of|to) (a |the )?(dispatch|launch|issu|enqueu|submi)"
    r"|issu(e|ing) (an? |the )?(op|call|launch)|下发"
)
KERNEL = (
    r"time of (the|a|each) (\w+ )?kernel|kernel.?s? (device )?(time|duration)|\bdevice.?(time|duration)"
    r"|time (spent )?on the (device|npu|card)|kernel (only|alone)|设备时间|kernel ?(耗时|时间)"
)
TRANSFER = (
    r"\b(bring|fetch|pull|mov|send|return|hand)\w* [^.\n]{0,40}\b(to|onto|from) the (host|device|card|npu)\b"
    r"|transfer|\bcop(y|ies|ying)\b|end.to.end|\be2e\b|\bh2d\b|\bd2h\b|upload|download|host.to.|拷贝|搬运|传输|端到端"
)
ASKED = r"end.to.end|\be2e\b|request|response|round.?trip|\bclient|\busers?\b|请求|响应|端到端"
REQUEST = rf"{ASKED}|latenc|时延|延迟"
WAITED = (
    r"latenc\w* (of|for|per) (a|an|one|each|every|a single)\b.{0,20}(call|launch|op)"
    r"|\bone at a time|(one|a single) (\w+ )?(call|launch|request|query|step) at a time|round.?trip"
    r"|not (the )?(time of the )?(kernel|device)|to completion"
    # a wait, unless its line says that there is none, or one behind many calls
    r"|(?<![^\n])(?![^\n]*\b(once|last|every \d+|at the end)\b)"
    r"(?![^\n]*\b(one|a single) (wait|sync\w*)\b(?! (per|a|for (each|every)) ))"
    r"(?![^\n]*\b(no|not|never|without)\b[^\n]{0,30}\b(wait|sync))"
    r"[^\n]*\b(wait(s|ed|ing)?|sync(s|hron\w*)?)\b"
    r"|\b(from|between) (the |its )?(call|issu\w+|launch|start|submi\w+)( \w+){0,4} (to|until|and) (the |its )?"
    r"(\w+ )?(finish|complet|result|end\b)"
    r"|\b(call|launch|start) (to|until) (the |its )?(\w+ )?(finish|complet|result|end\b|idle|done)"
    r"|\blaunch(es)? (is |are )?(included|counted|(in|part of) (it|each|every|(the|this|that) (time|figure|sample)))\b"
    r"|\binclud\w* (the |its )?(host.s )?launch\b(?!\w* of the next)"
    r"|\b(until|when) (it is |all is )?(finished|done|ready|complete|idle)\b"
    r"|\buntil (the |its |all )?(\w+ )?(device|card|npu|results?|kernels?|work|answer)s? (is|are|has|have) "
    r"(\w+ )?(done|finished|ready|there|complete|ended|idle|quiet|drained)|\bwall.?(clock|time)\b|到(完成|结果)|含同步"
)
# Waits within a sample, of which the report says that they are in it.
COUNTED = (
    r"\b(wait|sync)\w*( \w+){0,4} (is |are )?(included|counted)\b"
    r"|\bincl(ud\w*|\.)? (the |its |their |all |a |one |final |last |closing )?(wait|sync)"  # as "wait included"
    r"|\b(wait|sync)\w*( \w+){0,4} (is|are) (in|part of) (it|each|every|the|that|this)\b"
    r"|(?<!one )(?<!single )\b(wait|sync)\w* (after|behind|following) (each|every) "
)
# What is no time of a call, to which its wait belongs: the device's own time, or a rate.
NO_CALL = (
    r"(?<![a-z])kernels?(?![a-z])|\b(the|a|on|of) (device|card|npu|hardware|chip)\b|device.?time|through.?put|sustain"
    r"|\brates?\b|\bback.to.back\b|\bqueue|(per|a) second\b|\b(launch|call|step|op)\w* ?/ ?s\b|[TG]FLOP"
    r"|\b[KMGT]i?B ?/ ?s|吞吐"
)
GAPS = (
    r"\bgaps?\b|launch(es)? (is |are )?(included|counted)|includ\w* (the )?(host.s )?(launch|issu)"
    r"|\bwaits? for (the |its )?(next |host.s )?(launch|issu|host)|空隙|间隙"
)
PACED = r"open.loop|arriv|poisson|\bpace|\brest(s|ing)?\b|cool"
# what a step is made of, and not where else the operator stands: "as good as free in our training step"
TRAINING = r"backward|(?<!in our )(?<!in the )(?<!in a )train(ing)? step|fwd ?\+ ?bwd|反向|训练步"
# Rows of a report: one for the way there, one for both ways.
BOTH_WAYS = (
    r"(forward|fwd|fw)\b ?(\+|and|&|,|then|with) ?(the )?(backward|bwd|bw)\b|(with|incl\w*) backward|fwd_?bwd|train\w*"
)
ONE_WAY = r"\b(forward|fwd|fw|infer\w*|eval)\b"
ONLY = (
    r"(no|not|without|only|w/o|except).{0,20}(backward|forward)|forward (only|alone)|\bforward (pass )?of\b"
    r"|backward.{0,30}\b(not|never|left out|excluded|aside)\b"
)
ONCE = (
    r"compil\w* (time|cost|once|takes?|took)|(time|cost) (to|of) compil|with compil"
    r"|(first|cold|opening|initial) (call|start|run|launch|step|iteration|use|invocation|execution|request|result)"
    r"|compil\w*(/\w+)? (is |are )?(included|inside|counted)"
    r"|warm.?up (time|cost|took|takes)"
    r"|captur\w* (time|cost|takes?|took)|(time|cost) (to|of) captur|captur\w*( \w+){0,3} once\b"
    # a row of the capture's own, which no replay is in and no mean is taken of
    r"|(?<![^\n])(?![^\n]*\b(replay|includ|with\b|averag|mean|median|p50|per (call|step|forward)))"
    r"[^\n]{0,20}\bcaptur\w*\b[^\n]{0,60}\d\.\d"
    r"|(编译|捕获)[^\n。；;]{0,12}(时间|耗时|时钟|一次)|首次|第一次"
)


def once(text: str) -> bool:
    """Does a text speak of a first call or a compilation; also in a key of JSON, as first_call_ms?"""
    return bool(re.search(ONCE, text.replace("_", " "), re.IGNORECASE))


# A check of the results, that a sample may hold if the report says so.
CHECKS = r"check|finite|\bnan|\binf|valid|verif|guard|correct|equal|agree|检查|校验|有限"
# What makes one number of many elements, and is work that is asked for.
SUMS = (
    r"\b(loss\w*|criterion|errs?|errors?|metrics?|accura\w*|perplex\w*|norms?|reduc\w*|sum(s|med|ming)|sum of"
    r"|checksums?|accumulat\w*|averag\w*|energy|variance|evaluat\w*)\b|求和|总和|损失|误差|精度|归约|累加"
)
# Elements that are set to zero by chance; and that they are not.
DROPS = r"\bdrop.?out|丢弃|随机失活"
DROPS_NOT = r"\b(eval|infer\w*|off|without|no|disabled|identity|none)\b|评估|推理|关闭|不(丢|含)|未启用"
PERCENTILES = (
    r"\bp ?(50|75|90|95|99)\b|median|percentile|quartile|quantile|\bstd|\bsd\b|stdev|deviation|\biqr\b"
    r"|\bmad\b|±|\+-|\+/-"
    r"|interval|中位|分位|标准差"
)
# A figure that is called the usual one; and which of the samples it is.
TYPICAL = (
    r"\btypical|\busual|\bnormally\b|\bexpect\w* (time|latenc|cost)|on average|\bor less\b|\bin production\b"
    r"|\bno (more|longer) than\b|\bnever (more|longer)\b|通常|典型|一般|平均|不超过"
)
WHICH = rf"{PERCENTILES}|\b(lowest|fastest|best|shortest|minim\w+|min|least|mean|lower bound)\b|最小|最快|最低|均值"
# A wait with nothing before it, in a line of its own: what it costs by itself.
_A_WAIT = r"(wait|sync(hroni[sz]\w*|s|ing)?)"
WAIT_ALONE = (
    rf"(?<!\band )(?<!\+ )(?<!& )(?<!with )\b{_A_WAIT} (only|alone|by itself)\b|\b(bare|empty|lone) {_A_WAIT}\b"
    rf"|\b{_A_WAIT}\b[^.\n]{{0,20}} (with|on|for|behind|after) (nothing|an? idle|no (call|work|launch|kernel))\b"
    rf"|\b(nothing|no (call|work|launch|kernel)s?)\b[^.\n]{{0,16}}\b{_A_WAIT}\b"
    r"|(只|仅|单独|空)[^\n，。,]{0,6}(同步|等待)"
)
EMPTY = (
    r"overhead|\bempty\b|baseline cost|\bnull\b|\bno.?op\b|\bno (launch|kernel)(es|s)?\b|\bnothing between\b"
    r"|\bloop (itself|alone|only)\b|\bbare loop\b|\bidle[ _]wait|\bwithout (a |any )(call|launch|kernel)s?\b|空"
)
CPU = r"\bcpu\b|\bnumpy\b|on the host\b"
DEVICE = r"\bnpu\b|ascend|\b910|\bgpu\b|\bcuda\b|昇腾"
# Two that are compared and need not be as large: one of them is meant to do less.
LESS = (
    r"\bpad|bucket|prun|spars|cach|sampl(ed|ing) (soft|tok|neg)|approx|distil|crop|truncat|quanti[sz]"
    r"|decod(e|ing)\b|prefill|increment|low.?rank|subset|skip|packed|varlen|ragged|smaller (model|layer|batch|input)"
    r"|填充|稀疏|剪枝|缓存"
)
# Two ways to one result; and two that differ on purpose.
SAME = (
    r"\b(eager|compiled?|fused|fusion|unfused|naive|reference|optimi[sz]ed|custom|hand.?(written|made)|composed|manual"
    r"|original|looped|rewritten|one.pass|two.pass|implementations?|versions?"
    r"|same (result|answer|output|value|thing|function|formula)s?|equivalent|old|new|drop.in|baseline"
    r"|candidates?|merg(ed|ing)|separate|in advance|dedup\w*|ways?)\b"
    r"|融合|等价|版本|实现"
)
ALIKE = (  # said outright
    r"\bsame (result|answer|output|value|function|formula|operation|computation)|\bequivalent\b|\bidentical"
    r"|\bdrop.in\b|\b(two|both|either) (implementations?|ways|versions|forms|spellings)\b|等价|相同的"
)
# Parameters that a step leaves alone on purpose.
FROZEN = (
    r"fr(ee|o)z|\bLoRA\b|adapter|trainable|fine.?tun|head only|冻结|微调"
    r"|(subset|part|half|share|some) of (the |its )?(param|weight|tensor)"
)
FEWER = r"\btop.?k\b|\bk largest|\bselect|\breduc|\bsort|\bmask|前 ?k|排序"  # results of which one needs fewer
CONTRAST = r"\bwith (and|or|vs\.?|versus) without\b|\bcost of (the )?(bias|mask|dropout|affine|scale)|causal (and|vs)"
# What follows a number that is no size.
UNIT = (
    r"\s*(%|(us|µs|ns|ms|s|sec\w*|micro\w*|milli\w*|samples?"
    r"|calls?|runs?|laps?|rounds?|iter\w*|rep\w*|blocks?|times)\b)"
)
_NUMBER = r"[1-9]\d{1,8}"  # of two digits or more; "batch 07" is the eighth and no size
SHAPE = (
    rf"(?<![\d.x×,])({_NUMBER}(?:\s?[x×]\s?{_NUMBER})+)(?![\d.x×]|{UNIT})"
    rf"|(?:shape|size|dims)\W{{1,3}}({_NUMBER}(?:, ?{_NUMBER})+)"
)
EXTENT = rf"\b(?:batch(?: size)?|rows|cols|columns|hidden|seq_?len|tokens)[ =:]{{1,3}}({_NUMBER})(?![\d.]|{UNIT})"
WHOLE_SHAPE = r"(?<![\w.x×])\d+(?: ?[x×] ?\d+){1,4}(?! ?[x×]|[\w.])|\(\d+(?:, ?\d+){1,4}\)|\[\d+(?:, ?\d+){1,4}\]"
BATCH = rf"\bbatch(?: size)?[ =:]{{1,4}}(\d{{1,9}})(?![\d.,]\d|{UNIT})"
PUT_BACK = r"\bcop(y|ies|ied)|\bclon|restor|reset|put back|refresh|拷贝|恢复"
DTYPES = {  # np.float64(1.5) is how a number is printed
    "float16": r"\bfp16\b|(?<!np\.)\bfloat16\b|\bf16\b|half.precision",
    "bfloat16": r"\bbf16\b|\bbfloat16\b",
    "float32": r"\bfp32\b|(?<!np\.)\bfloat32\b|\bf32\b",
    "float64": r"\bfp64\b|(?<!np\.)\bfloat64\b",
    "int8": r"\bint8\b",
}
# A type of what the results are held against: "agree with a float64 reference".
_TYPE = r"\b(fp|float|bfloat|bf|f)(16|32|64)\b"
REFERENCE = (
    rf"{_TYPE}.{{0,12}}\b(reference|golden|oracle|truth|result|answer|twin|copy)s?\b"
    r"|\b(agree\w*|check\w*|compar\w*|verif\w*|validat\w*|match\w*|held|err\w*|deviat\w*|differ\w*|distan\w*|off"
    rf"|apart)\b[^.\n]{{0,30}}\b(with|against|to|in|by|from|of|than)\b[^.\n]{{0,14}}{_TYPE}"
    rf"|{_TYPE}[^.,;\n]{{0,30}}\b(on|of) the (host|cpu)\b|\b(vs\.?|versus|against) (fp|float|f)64\b"
    rf"|\bwithin [^\n]{{0,20}} of {_TYPE}"
    rf"|\b(re)?(comput|calculat|evaluat|accumulat|summ?|work)ed( (out|up|again))? in {_TYPE}"
)
DISCLAIMS = (  # what a report says that it does not say
    r"\b(nothing|no claim|no statement|not|nor)\b[^.\n]{0,30}"
    r"\b(said|claim\w*|measured|timed|tried|cover\w*|apply|hold|known)\b|says? nothing|不(适用|涉及|说明)|未测|没有测"
    r"|\b(no|not a|without a|nor a) (claim|statement|conclusion|word|figure|number|result)s? (about|on|of|for|is|are)\b"
)
CONCLUDES = (
    r"faster|slower|always|never|everywhere|whatever|in general|\bany (size|shape|tensor|input)|should|replace|verdict"
    r"|takeaway|recommend|prefer|convert|switch|\bbest\b|\bcheap|is fast|times as fast|\buse (the|a|it|this)\b"
    r"|更快|总是|应该|推荐"
)
# The time of a call, and what names several of them.
A_CALL = r"(\bper|\ba|\beach|\bone|/) ?(call|launch)\b|每次调用"
SEVERAL = r"\b(chain|stack|layers?|blocks?|loop|both|all|steps?|groups?|lists?|\d+ (calls|launches|ops))\b"
# What is concluded for sizes that nobody tried.
EVERY = (
    r"\b(hold|true|valid|appl|same|fast|slow|better|best|prefer|quick|cheap|win|always|use)\w*\b[^\n.]{0,60}"
    r"\b(every|any|all|whatever|whichever|regardless of|independent of|irrespective of) (the |its |their |other )?"
    r"(\w+ )?(sizes?|shapes?|lengths?|dimensions?)\b(?! (above|below|here|we|i|that|which|\w+ed|tried|shown)\b)"
    r"|\b(for|at|with|on) (\w+ )?(of )?(every|any|all|whatever) (\w+ )?(sizes?|shapes?|lengths?)\b"
    r"(?! (above|below|here|we|i|that|which|\w+ed|tried|shown)\b)[^\n.]{0,60}\b(faster|slower|better|best|wins?|same)\b"
    r"|\b(whatever|regardless of|independent of|irrespective of) (the |its |their )?(\w+ (set )?and (the )?)?"
    r"(\w+ )?(sizes?|shapes?|lengths?|dimensions?|widths?)\b(?! (above|below|here|we|i|that|which|\w+ed|tried|shown)\b)"
    r"|\b(faster|slower|quicker|cheaper|as fast|as long|better|best|wins?)\b[^\n.]{0,60}\b(any|every|all|whatever)"
    r" ((number|amount|count)s? of \w+|(table|matrix|vocabulary|batch|width|height|row count)\b)"
    # of a network: its other sizes
    r"|\b(at|for) (every|any|all) (the )?(\w+ )?(resolution|channel|width|stage)s?\b"
    r"|\b(in|for|at) (all|every|any) (the )?(later|other|remaining|further|deeper|earlier)"
    r" (stage|layer|level|block|model)s?\b"
    r"|\b(use|keep|take|prefer)\b[^\n.]{0,30}\bin (all|every) (the )?(stage|layer|level|block)s?\b"
    r"|适用于(任何|所有)(形状|大小|尺寸)"
)
# Two that were compared, and no difference was found: nothing is said for other sizes.
TIED = (
    r"\bno (clear |real |significant |measurable )?(difference|winner)\b|\boverlap|inconclusive|\b(a|is) tie\b"
    r"|没有(显著)?差(异|别)"
)
PREPARES = r"\bpin(ning|s\b|_memory)|\bload(er|ing)|\bprepar|preprocess|\bconver(t|sion)|锁页|预处理"
SUSTAINED = r"\bsustain|\bsoak|持续"
RATE = r"(tokens?|samples?|images?|steps?|requests?|sequences?|rows?|items?|it)( per second|s? ?/ ?s)|throughput|吞吐"


# A decimal number that is no error, as 1.3e-06 is, or one with a unit: what was measured.
MEASURED = r"(?<![\d.])\d+\.\d+(?![\d.]|e[-+]?\d)|\d ?(ns|us|µs|ms|s)\b|\bB ?/ ?s\b"


def tail(report: str) -> float:
    """The largest percentile of a report from P90 on, as 99.9; 0 where it has none."""
    return max(map(float, re.findall(r"\bp ?(9\d(?:\.\d+)?)\b", report, re.IGNORECASE)), default=0.0)


def few_for(report: str, samples: int) -> float:
    """The largest percentile of a report, if these are too few samples for it, else 0: beyond P99 half of one should
    lie above it; P99 itself, which many print of a hundred or so, passes from 31 on, or where others stand beside it.
    """
    most = tail(report)
    if samples <= 10 and most >= 95:
        return most  # of which the largest one is all that there is
    beside = re.search(r"\bp ?(50|75|90|95)\b|median|max|largest|worst|slowest|longest", report, re.IGNORECASE)
    few = samples * (100 - most) < 50 if most > 99 else most == 99 and samples <= 30 and not beside
    return most if few else 0


_COUNTS = {"hundred": 100, "ten thousand": 10_000, "thousand": 1000, "million": 10**6}
_MANY = r"(?:a |one |every |each )?(\d[\d,]*|hundred|ten thousand|thousand|million)\b"
_CALLS = r"(?:call|request|step|launch|run|query|querie|iteration|time)(?:s|es)?\b"
_OF_MANY = (
    rf"\b(?:\d+|one|a single|two|three) (?:more )?{_CALLS} (?:in|out of) {_MANY}"
    r"(?! ?(?:[kmg]i?b|[num]?s|sec\w*|rows|elements)\b)",
    rf"\b(?:\d+|one|once|two|three) (?:in|of|out of) {_MANY} {_CALLS}",
)
_SHARE = rf"(?<![\d.])(\d\d(?:\.\d+)?) ?% of (?:all |the |its |your |our )?{_CALLS}"
_SET_ASIDE = (
    r"warm|first|discard|drop|left out|set aside|slow ones|outlier|skip|\b(a|one|no) wait\b|\bsync|\btimed|sampled"
    r"|checked"
)


def frequency(report: str) -> int:
    """Of how many calls a report says in words how they behave: "one call in a hundred exceeds it"; 0 where of none."""
    most = 0
    for line in report.split("\n"):
        if re.search(_SET_ASIDE, line, re.IGNORECASE):
            continue
        for pattern in _OF_MANY:
            for many in re.findall(pattern, line, re.IGNORECASE):
                most = max(most, _COUNTS.get(many.lower()) or int(many.replace(",", "")))
        for share in map(float, re.findall(_SHARE, line, re.IGNORECASE)):
            most = max(most, round(100 / (100 - share)) if share >= 90 else 0)
    return most


def decimals(text: str) -> list[float]:
    """The decimal numbers of a text."""
    return [float(n) for n in re.findall(r"\d+\.\d+(?:e[+-]?\d+)?", re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text))]


def whole_times(text: str) -> list[float]:
    """Whole numbers from 10 on with a unit of time behind them, as "52 us"; below that rounding alone moves them."""
    found = re.findall(r"(?<![\d.,])(\d{2,3}(?:,\d{3})*|\d{2,}) ?(?:ns|us|µs|ms|s)\b", text)
    return [float(n.replace(",", "")) for n in found]
